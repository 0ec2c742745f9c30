"""How wrong numbers relate to right ones, where no exercise has a better word for it."""

from collections.abc import Callable
from typing import Any

import torch

Pattern = Callable[[torch.Tensor, torch.Tensor], str | None]
CLOSE = 1e-3


def pattern(got: Any, want: Any) -> str | None:
    """Return a sentence on how the first wrong tensor relates to the right one, or None."""
    pair = _first_wrong(got, want)
    if pair is None:
        return None
    mine, right = (tensor.double() for tensor in pair)
    if not (mine.isfinite().all() and right.isfinite().all()):
        return None
    found = (find(mine, right) for find in PATTERNS)
    return next((sentence for sentence in found if sentence), None)


def _first_wrong(got: Any, want: Any) -> tuple[torch.Tensor, torch.Tensor] | None:
    """Return the first pair of tensors of one shape that differ."""
    if isinstance(got, torch.Tensor) and isinstance(want, torch.Tensor):
        alike = got.shape == want.shape and got.dtype == want.dtype and got.numel() > 1
        return (got, want) if alike and not torch.equal(got, want) and _numeric(want) else None
    if isinstance(got, (list, tuple)) and isinstance(want, (list, tuple)):
        pairs = (_first_wrong(one, other) for one, other in zip(got, want, strict=False))
        return next((pair for pair in pairs if pair), None)
    return None


def _numeric(tensor: torch.Tensor) -> bool:
    return tensor.is_floating_point()


def _same(one: torch.Tensor, other: torch.Tensor) -> bool:
    return one.shape == other.shape and torch.allclose(one, other, atol=CLOSE, rtol=CLOSE)


def _sign(got: torch.Tensor, want: torch.Tensor) -> str | None:
    return "Every number has the wrong sign." if _same(got, -want) else None


def _factor(got: torch.Tensor, want: torch.Tensor) -> str | None:
    large = want.abs() > 10 * CLOSE
    if large.sum() < 2 or got.abs().max() < CLOSE:
        return None
    ratio = (got[large] / want[large]).median()
    if not _same(got, want * ratio) or _same(got, want):
        return None
    return f"Every number is {ratio:.4g} times what it should be: a scale factor is off."


def _offset(got: torch.Tensor, want: torch.Tensor) -> str | None:
    offset = (got - want).median()
    return "Every number is off by the same amount." if _same(got, want + offset) else None


def _constant(got: torch.Tensor, want: torch.Tensor) -> str | None:
    if _same(got, got.flatten()[0].expand_as(got)) and not _same(
        want, want.flatten()[0].expand_as(want)
    ):
        return f"Every number is the same, {got.flatten()[0]:.4g}: the input makes no difference."
    return None


def _exchanged(got: torch.Tensor, want: torch.Tensor) -> str | None:
    for one in range(got.dim()):
        for other in range(one + 1, got.dim()):
            if got.shape[one] == got.shape[other] and _same(got.transpose(one, other), want):
                return f"Dimensions {one} and {other} of the result are exchanged."
    return None


def _rearranged(got: torch.Tensor, want: torch.Tensor) -> str | None:
    if _same(got.flatten().sort().values, want.flatten().sort().values):
        return (
            "The numbers are right but stand in the wrong places: "
            "a reshape where a transpose is needed, or a wrong order."
        )
    return None


def _rounded(got: torch.Tensor, want: torch.Tensor) -> str | None:
    if torch.equal(got, got.round()) and not torch.equal(want, want.round()):
        return "Every number is whole: is there an integer division, or a rounding?"
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
            return f"Along dimension {dim} (size {len(hit)}) only {which} wrong; the rest is right."
    return None


def _spread(got: torch.Tensor, want: torch.Tensor) -> str | None:
    """Say when all numbers are wrong and lie closer together, or further apart, than they should."""
    if want.std() < CLOSE or 0.8 < got.std() / want.std() < 1.25:
        return None
    how = "further apart" if got.std() > want.std() else "closer together"
    return (
        f"All numbers differ, and lie {how} than they should "
        f"(their standard deviation is {got.std() / want.std():.2g} times the right one)."
    )


PATTERNS: tuple[Pattern, ...] = (
    _sign, _constant, _factor, _offset, _exchanged, _rearranged, _rounded, _some_rows, _spread,
)  # fmt: skip
