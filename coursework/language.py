"""Word-level language models: ids from a text, baselines to beat, and sampling."""

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from coursework.tasks import SPECIALS

UNKNOWN = SPECIALS.index("<unk>")


@dataclass(frozen=True)
class Words:
    """A text in ids, cut in two, and the words that the ids stand for."""

    vocabulary: tuple[str, ...]
    learn: Tensor
    test: Tensor

    def text(self, ids: Sequence[int]) -> str:
        """Return ids as text."""
        return "".join(self.vocabulary[number] for number in ids)

    def ids(self, text: str) -> Tensor:
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


def counted(words: Words) -> Tensor:
    """Return which entries (V,) of a vocabulary count as words: no separators, no special tokens."""
    wordlike = [re.match(r"\w", token) is not None for token in words.vocabulary]
    return torch.tensor([False] * len(SPECIALS) + wordlike[len(SPECIALS) :])


def unigram_perplexity(words: Words) -> float:
    """Return the perplexity, on the words of the test part, of knowing only how frequent each is."""
    is_word = counted(words)
    return math.exp(-float(_unigram(words).log()[words.test[is_word[words.test]]].mean()))


def bigram_perplexity(words: Words, weight: float = 100.0) -> float:
    """Return the perplexity, on the words of the test part, of knowing the previous word as well.

    Probabilities are counts of pairs in the learning part, smoothed with `weight` times the unigram
    probability (a Dirichlet prior: MacKay and Peto 1995). An unknown word counts as previous word.
    """
    is_word = counted(words)
    is_word[UNKNOWN] = True
    learn, test = (ids[is_word[ids]] for ids in (words.learn, words.test))
    size, unigram = len(words.vocabulary), _unigram(words)
    pairs = torch.bincount(learn[:-1] * size + learn[1:], minlength=size * size)
    before = torch.bincount(learn[:-1], minlength=size)
    known = test[1:] != UNKNOWN
    previous, following = test[:-1][known], test[1:][known]
    likely = pairs[previous * size + following] + weight * unigram[following]
    return math.exp(-float((likely / (before[previous] + weight)).log().mean()))


def _unigram(words: Words) -> Tensor:
    """Return the probability (V,) of each word in the learning part, with one added to each count."""
    counts = torch.bincount(words.learn, minlength=len(words.vocabulary)).double() + 1
    counts = counts.masked_fill(~counted(words), 0.0)
    return counts / counts.sum()


@torch.no_grad()
def perplexity(
    model: nn.Module, inputs: Tensor, targets: Tensor, where: Tensor | None = None, size: int = 32
) -> float:
    """Return exp of the mean loss over windows (W, length), in eval mode.

    `where` (V,) says which targets count; all do if it is not given.
    """
    was_training, on = model.training, next(model.parameters()).device
    model.eval()
    losses = []
    with on:
        for start in range(0, len(inputs), size):
            logits = model(inputs[start : start + size].to(on))
            ids = targets[start : start + size].to(on).flatten()
            losses.append(nn.functional.cross_entropy(logits.flatten(0, 1), ids, reduction="none").cpu())
    model.train(was_training)
    every, ids = torch.cat(losses), targets.flatten()
    return math.exp(float(every[where[ids] if where is not None else ids >= 0].mean()))


@torch.no_grad()
def sample(
    model: nn.Module, start: Tensor, count: int, *, temperature: float = 1.0, window: int = 64, seed: int = 0
) -> Tensor:
    """Continue ids (T,) with `count` sampled ids; the logits are divided by the temperature first.

    Special tokens are never sampled. Only the last `window` ids are read.
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
