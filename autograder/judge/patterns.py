"""How wrong numbers relate to right ones, for results that no explainer of an exercise knows."""

from collections.abc import Callable
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

from autograder.judge.compare import MANY_TIMES, times

Pattern = Callable[[torch.Tensor, torch.Tensor], str | None]
CLOSE = 1e-3


def pattern(got: Any, want: Any) -> str | None:
    """Return a sentence on how the first wrong tensor of floats relates to the right one, or None."""
    for mine, right in zip(tree_leaves(got), tree_leaves(want), strict=False):
        if _comparable(mine, right) and not _same(mine, right):
            found = (find(mine.detach().double(), right.detach().double()) for find in PATTERNS)
            return next(filter(None, found), None)
    return None


def _comparable(mine: Any, right: Any) -> bool:
    """Return whether both are tensors of finite floats, of one shape and more than one entry."""
    pair = [value for value in (mine, right) if isinstance(value, torch.Tensor)]
    finite = len(pair) == 2 and all(t.is_floating_point() and t.isfinite().all() for t in pair)
    return finite and mine.shape == right.shape and mine.numel() > 1


def _same(one: torch.Tensor, other: torch.Tensor) -> bool:
    return one.shape == other.shape and torch.allclose(one, other, atol=CLOSE, rtol=CLOSE)


def _sign(got: torch.Tensor, want: torch.Tensor) -> str | None:
    return "Every number has the wrong sign." if _same(got, -want) else None


def _factor(got: torch.Tensor, want: torch.Tensor) -> str | None:
    large = want.abs() > 10 * CLOSE
    if large.sum() < 2 or got.abs().max() < CLOSE:
        return None
    ratio = (got[large] / want[large]).median()
    if not _same(got, want * ratio):
        return None
    return f"Every number is {times(ratio.item(), 1.0)}: a scale factor is off."


def _offset(got: torch.Tensor, want: torch.Tensor) -> str | None:
    offset = (got - want).median()
    return "Every number is off by the same amount." if _same(got, want + offset) else None


def _constant(got: torch.Tensor, want: torch.Tensor) -> str | None:
    first = got.flatten()[0]
    if not _same(got, first.expand_as(got)) or _same(want, want.flatten()[0].expand_as(want)):
        return None
    return "Every number is the same: the input makes no difference."


def _exchanged(got: torch.Tensor, want: torch.Tensor) -> str | None:
    for one in range(got.dim()):
        for other in range(one + 1, got.dim()):
            if got.shape[one] == got.shape[other] and _same(got.transpose(one, other), want):
                return f"Dimensions {one} and {other} of the result are exchanged."
    return None


def _rearranged(got: torch.Tensor, want: torch.Tensor) -> str | None:
    if _same(got.flatten().sort().values, want.flatten().sort().values):
        return "The numbers are right, but in the wrong places. Is there a reshape in place of a transpose?"
    return None


def _some_rows(got: torch.Tensor, want: torch.Tensor) -> str | None:
    """Say which entries along one dimension are wrong, where the others are right."""
    wrong = ~torch.isclose(got, want, atol=CLOSE, rtol=CLOSE)
    for dim in range(got.dim()):
        others = [d for d in range(got.dim()) if d != dim]
        hit = wrong.any(dim=others) if others else wrong
        if 0 < hit.sum() < len(hit):
            places = [int(place) for place in hit.nonzero()[:, 0]]
            listed = ", ".join(map(str, places[:5])) + (", …" if len(places) > 5 else "")
            which = f"index {listed} is" if hit.sum() == 1 else f"indices {listed} are"
            return f"Along dimension {dim}, only {which} wrong; the rest is right."
    return None


def _spread(got: torch.Tensor, want: torch.Tensor) -> str | None:
    """Say when all values are wrong and vary too little, or too much."""
    ratio = got.std() / want.std()
    known = want.std() > CLOSE and 1 / MANY_TIMES < ratio < MANY_TIMES and not 0.8 < ratio < 1.25
    if not known or torch.isclose(got, want).any():
        return None
    how = "much" if ratio > 1 else "little"
    question = "" if ratio > 1 else " Is something scaled down, or normalised twice?"
    return (
        f"Every value is wrong, and the values vary too {how}: their standard deviation is "
        f"{times(ratio.item(), 1.0)}.{question}"
    )


PATTERNS: tuple[Pattern, ...] = (
    _sign, _constant, _factor, _offset, _exchanged, _rearranged, _some_rows, _spread,
)  # fmt: skip
