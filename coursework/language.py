"""Word-level language models: ids from a text, baselines to beat, and sampling."""

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import nn

from coursework.tasks import SPECIALS

UNKNOWN = SPECIALS.index("<unk>")


@dataclass(frozen=True)
class Words:
    """A text in ids, cut in two, and the words that the ids stand for."""

    vocabulary: tuple[str, ...]
    learn: torch.Tensor
    test: torch.Tensor

    def text(self, ids: Sequence[int]) -> str:
        """Return ids as text."""
        return "".join(self.vocabulary[number] for number in ids)

    def ids(self, text: str) -> torch.Tensor:
        """Return the ids (T,) of a text."""
        places = {word: number for number, word in enumerate(self.vocabulary)}
        return torch.tensor([places.get(token, UNKNOWN) for token in split(text)])


def split(text: str) -> list[str]:
    """Split at word boundaries: words, and what stands between them."""
    return [token for token in re.split(r"\b", text) if token]


def prepare(text: str, max_size: int, share: float = 0.9) -> Words:
    """Number the most frequent tokens; the first `share` of the text is for learning, the rest for testing.

    The two never overlap, and the words are chosen and counted in the first part alone.
    """
    tokens = split(text)
    cut = int(share * len(tokens))
    counted = Counter(tokens[:cut]).most_common(max_size - len(SPECIALS))
    vocabulary = (*SPECIALS, *(word for word, _ in counted))
    places = {word: number for number, word in enumerate(vocabulary)}
    ids = torch.tensor([places.get(token, UNKNOWN) for token in tokens])
    return Words(vocabulary, ids[:cut], ids[cut:])


def unigram_perplexity(words: Words) -> float:
    """Return the perplexity, on the test part, of knowing only how frequent each word is."""
    counts = torch.bincount(words.learn, minlength=len(words.vocabulary)).double() + 1
    return math.exp(-float((counts / counts.sum()).log()[words.test].mean()))


@torch.no_grad()
def perplexity(
    model: nn.Module, inputs: torch.Tensor, targets: torch.Tensor, size: int = 32
) -> float:
    """Return exp of the mean loss a token over windows (W, length), in eval mode."""
    was_training, total = model.training, 0.0
    where = next(model.parameters()).device
    model.eval()
    with where:
        for start in range(0, len(inputs), size):
            logits = model(inputs[start : start + size].to(where))
            ids = targets[start : start + size].to(where).flatten()
            total += float(nn.functional.cross_entropy(logits.flatten(0, 1), ids, reduction="sum"))
    model.train(was_training)
    return math.exp(total / targets.numel())


@torch.no_grad()
def sample(
    model: nn.Module,
    start: torch.Tensor,
    count: int,
    *,
    temperature: float = 1.0,
    window: int = 64,
    seed: int = 0,
) -> torch.Tensor:
    """Continue ids (T,) by `count` drawn ids: the logits are divided by the temperature first.

    Special tokens are never drawn. Only the last `window` ids are read.
    """
    was_training, where = model.training, next(model.parameters()).device
    generator = torch.Generator().manual_seed(seed)
    model.eval()
    ids = start
    for _ in range(count):
        with where:
            logits = model(ids[None, -window:].to(where))[0, -1].cpu() / temperature  # (V,)
        logits[: len(SPECIALS)] = -torch.inf
        drawn = torch.multinomial(logits.softmax(dim=-1), 1, generator=generator)
        ids = torch.cat([ids, drawn])
    model.train(was_training)
    return ids


def wrapped(text: str, width: int = 90) -> str:
    """Return a text with its own line breaks kept, and no line longer than `width`."""
    lines: list[str] = []
    for line in text.splitlines():
        while len(line) > width:
            cut = line.rfind(" ", 0, width)
            cut = cut if cut > 0 else width
            lines.append(line[:cut])
            line = line[cut:].lstrip()
        lines.append(line)
    return "\n".join(lines)
