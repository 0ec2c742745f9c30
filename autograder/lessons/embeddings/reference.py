"""References of lesson 01, each built another way than its model answer."""

import re
from collections import Counter

import torch
import torch.nn.functional as F
from torch import nn

SPECIALS = ("<pad>", "<sos>", "<eos>", "<unk>")
GIVEN = {"re": re, "Counter": Counter, "SPECIALS": SPECIALS}


def tokenise(text: str) -> list[str]:
    """Return runs of word characters and runs of other characters, in their order."""
    import itertools  # here, because the source has to stand alone

    def is_word(character: str) -> bool:
        return character.isalnum() or character == "_"

    return ["".join(run) for _, run in itertools.groupby(text, key=is_word)]


def build_vocabulary(tokens: list[str], max_size: int | None = None) -> dict[str, int]:
    """Specials first, then by falling count; the stable second sort keeps ties in alphabetical order."""
    specials = ["<pad>", "<sos>", "<eos>", "<unk>"]
    counts: dict[str, int] = {}
    for token in tokens:
        counts[token] = counts.get(token, 0) + 1
    alphabetical = sorted(set(counts) - set(specials))
    ranked = sorted(alphabetical, key=counts.__getitem__, reverse=True)
    return dict(zip((specials + ranked)[:max_size], range(len(specials + ranked)), strict=False))


def encode(tokens: list[str], vocabulary: dict[str, int]) -> torch.Tensor:
    """Ids (len,), unknown tokens as <unk>."""
    ids = torch.empty(len(tokens), dtype=torch.int64)
    for place, token in enumerate(tokens):
        ids[place] = vocabulary[token] if token in vocabulary else vocabulary["<unk>"]
    return ids


def pad_batch(sequences: list[list[int]] | list[torch.Tensor], pad_id: int = 0) -> torch.Tensor:
    """Torch's own padding: (B, longest)."""
    rows = [torch.as_tensor(sequence).to(torch.int64) for sequence in sequences]
    return nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=pad_id)


def one_hot_embed(ids: torch.Tensor, table: torch.Tensor) -> torch.Tensor:
    """Apply a linear layer without bias on one-hot rows: (B,S), (V,D) -> (B,S,D)."""
    places = torch.arange(len(table))
    return F.linear(torch.eq(ids[..., None], places).to(table.dtype), table.T)


def nearest(table: torch.Tensor, query: torch.Tensor, k: int) -> torch.Tensor:
    """Return the k rows at the smallest angle: (V,D), (D,) -> (k,)."""
    cosines = F.normalize(table.double(), dim=-1) @ F.normalize(query.double(), dim=-1)
    return cosines.topk(k).indices


def bpe_merges(counts: dict[str, int], num_merges: int) -> list[tuple[str, str]]:
    """Pairs are slices of tuples; each word is scanned by index and cut where the pair is found."""
    spelt = [(tuple(word), count) for word, count in counts.items()]
    merges: list[tuple[str, str]] = []
    while len(merges) < num_merges:
        totals: dict[tuple[str, ...], int] = {}
        for pieces, count in spelt:
            for i in range(len(pieces) - 1):
                totals[pieces[i : i + 2]] = totals.get(pieces[i : i + 2], 0) + count
        if not totals:
            return merges
        left, right = sorted(pair for pair, n in totals.items() if n == max(totals.values()))[0]
        merges.append((left, right))
        for place, (pieces, count) in enumerate(spelt):
            i, joined = 0, []
            while i < len(pieces):
                both = pieces[i : i + 2] == (left, right)
                joined.append(left + right if both else pieces[i])
                i += 2 if both else 1
            spelt[place] = tuple(joined), count
    return merges
