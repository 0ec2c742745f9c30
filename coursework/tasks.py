"""Small tasks whose data the course makes itself: reversal, and numbers in words."""

from typing import Final

import torch
from torch import Tensor, nn

SPECIALS: Final = ("<pad>", "<sos>", "<eos>", "<unk>")
_ONES: Final = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_TENS: Final = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
DIGITS: Final = (*SPECIALS, *"0123456789")
WORDS: Final = (*SPECIALS, *_ONES, *_TENS, "hundred", "thousand", "and")
LARGEST: Final = 9999


def reversal(generator: torch.Generator, size: int, length: int, symbols: int) -> Tensor:
    """Return sequences (size, 2·length): random symbols 4 … 4+symbols−1, then the same reversed."""
    first = torch.randint(4, 4 + symbols, (size, length), generator=generator)
    return torch.cat([first, first.flip(1)], dim=1)


def in_words(number: int) -> list[str]:
    """Write a number from 0 to 9999 in words: 407 is four hundred and seven."""
    if not 0 <= number <= LARGEST:
        raise ValueError(f"expected a number from 0 to {LARGEST}, got {number}")
    if number < 20:
        return [_ONES[number]]
    if number < 100:
        tens, ones = divmod(number, 10)
        return [_TENS[tens - 2], *([_ONES[ones]] if ones else [])]
    unit, name = (1000, "thousand") if number >= 1000 else (100, "hundred")
    count, rest = divmod(number, unit)
    joined = ["and"] if 0 < rest < 100 else []
    return [_ONES[count], name, *joined, *(in_words(rest) if rest else [])]


def numbers(seed: int = 0) -> tuple[Tensor, Tensor]:
    """Return all numbers in a drawn order, cut in two: for learning (9000,), for testing (1000,)."""
    order = torch.randperm(LARGEST + 1, generator=torch.Generator().manual_seed(seed))
    return order[1000:], order[:1000]


def translation(picked: Tensor) -> tuple[Tensor, Tensor]:
    """Return digits (B, S) and words (B, T) of numbers (B,), each ending with <eos>, padded."""

    def padded(rows: list[list[int]]) -> Tensor:
        ended = [torch.tensor([*row, SPECIALS.index("<eos>")]) for row in rows]
        return nn.utils.rnn.pad_sequence(ended, batch_first=True)

    return (
        padded([[DIGITS.index(digit) for digit in str(number)] for number in picked.tolist()]),
        padded([[WORDS.index(word) for word in in_words(number)] for number in picked.tolist()]),
    )


def say(ids: Tensor) -> str:
    """Return the words of a row of ids up to <eos>."""
    words = [WORDS[word] for word in ids.tolist()]
    return " ".join(words[: words.index("<eos>")] if "<eos>" in words else words)


def exact(got: Tensor, want: Tensor) -> float:
    """Return the share of rows (B, ·) of `got` that equal those of `want`, padding aside."""
    width = max(got.size(1), want.size(1))
    got, want = (nn.functional.pad(ids, (0, width - ids.size(1))) for ids in (got, want))
    return float((got == want).all(dim=1).float().mean())
