"""Says in a sentence how a result differs from the right one, where no known mistake fits."""

from collections.abc import Callable, Sequence
from typing import Any

import torch

from coursework.instant.comparing import same_value
from coursework.instant.examples import Result

CLOSE = 1e-4


def describe(got: Result, expected: Result) -> str:
    """Return what is wrong with a result, in the first respect that matters."""
    if got.raised:
        return _raised(got, expected)
    if expected.raised:
        return f"This call should raise a {expected.raised}. Your code returned a value."
    if got.changed:
        numbers = " and ".join(str(number) for number in got.changed)
        return f"Your code modifies its argument {numbers}. Use operations that return a new tensor."
    return _values(got.value, expected.value, "The result")


def _raised(got: Result, expected: Result) -> str:
    if got.raised == "NotImplementedError" and not got.message:
        return "This exercise is still empty: replace `raise NotImplementedError()` with your answer."
    if got.raised == "PartError":
        return got.message
    if got.raised == "TookTooLongError":
        return "Your code did not finish. Is there a loop that never ends?"
    said = f": {got.message}" if got.message else ""
    wanted = f" A {expected.raised} was expected." if expected.raised else ""
    return f"Your code raised {got.raised}{said}.{wanted}".replace("..", ".")


def _values(got: Any, want: Any, what: str) -> str:
    if isinstance(want, torch.Tensor):
        return _tensors(got, want, what)
    if isinstance(want, (list, tuple)):
        return _sequences(got, want, what)
    if type(got) is not type(want):
        return f"{what} should be of type {type(want).__name__}, not {type(got).__name__}."
    return f"{what} differs from what was expected."


def _sequences(got: Any, want: Sequence[Any], what: str) -> str:
    if not isinstance(got, (list, tuple)):
        return f"{what} should be a {type(want).__name__}, not {_article(got)}."
    if len(got) != len(want):
        return f"{what} has {len(got)} entries; {len(want)} were expected."
    for number, (mine, right) in enumerate(zip(got, want, strict=True)):
        if not same_value(mine, right):
            nested = isinstance(right, (torch.Tensor, list, tuple))
            return (
                _values(mine, right, f"Entry {number} of the result")
                if nested
                else (f"Entry {number} of the result is wrong.")
            )
    return f"{what} differs from what was expected."


def _article(value: Any) -> str:
    kind = type(value).__name__
    return kind if value is None else f"{'an' if kind[0].lower() in 'aeiou' else 'a'} {kind}"


def _tensors(got: Any, want: torch.Tensor, what: str) -> str:
    if not isinstance(got, torch.Tensor):
        return f"{what} should be a tensor, not {_article(got)}."
    if got.shape != want.shape:
        return f"{what} has shape {tuple(got.shape)}; {tuple(want.shape)} was expected."
    if got.dtype != want.dtype:
        return f"{what} has dtype {_dtype(got)}; {_dtype(want)} was expected."
    found = (rule(got, want) for rule in RULES)
    return next(filter(None, found), _count(got, want, what))


def _dtype(tensor: torch.Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def _close(a: torch.Tensor, b: torch.Tensor) -> bool:
    return a.shape == b.shape and bool(torch.allclose(a.double(), b.double(), CLOSE, CLOSE))


def _not_finite(got: torch.Tensor, want: torch.Tensor) -> str:
    if not got.is_floating_point() or got.isfinite().all() or not want.isfinite().all():
        return ""
    kind = "NaN" if got.isnan().any() else "an infinity"
    return f"The result contains {kind}. Look for a division by 0, or a softmax of nothing but −∞."


def _inverted(got: torch.Tensor, want: torch.Tensor) -> str:
    if want.dtype is torch.bool and torch.equal(got, ~want):
        return "The mask is inverted: True and False are exchanged."
    return ""


def _future(got: torch.Tensor, want: torch.Tensor) -> str:
    """Name the position that sees what comes after it, where nothing after a position may be seen."""
    square = want.dim() >= 2 and want.size(-1) == want.size(-2) > 1
    if not square or want.triu(1).any() or not got.triu(1).any():
        return ""
    row = int(got.triu(1).reshape(-1, *got.shape[-2:]).any(0).any(-1).nonzero()[0])
    return f"The future leaks into position {row}: its row is not 0 (or False) after the diagonal."


def _transposed(got: torch.Tensor, want: torch.Tensor) -> str:
    if want.dim() >= 2 and _close(got.transpose(-2, -1), want):
        return "The result is the transpose of what was expected: rows and columns are exchanged."
    return ""


def _sums(got: torch.Tensor, want: torch.Tensor) -> str:
    """Say where rows or columns should sum to 1 and do not."""
    if not want.is_floating_point() or want.dim() == 0 or want.min() < 0:
        return ""
    for dim, name in ((-1, "rows"), (-2, "columns")):
        if want.dim() < -dim or want.size(dim) < 2:
            continue
        ones = torch.ones_like(want.sum(dim))
        if _close(want.sum(dim), ones) and not _close(got.sum(dim), ones):
            return f"The {name} of the result should each sum to 1; yours do not."
    return ""


def _ratio(got: torch.Tensor, want: torch.Tensor) -> str:
    if not want.is_floating_point() or not (want.abs() > CLOSE).any():
        return ""
    factor = float((got * want).sum() / (want * want).sum())
    if abs(factor) > CLOSE and want.numel() > 1 and _close(got, want * factor):
        return f"Every number is {factor:.3g} times what it should be."
    return ""


def _offset(got: torch.Tensor, want: torch.Tensor) -> str:
    if not want.is_floating_point() or want.numel() < 2:
        return ""
    gap = got - want
    if _close(gap, gap.mean().expand_as(gap)):
        return f"Every number is off by the same amount, {float(gap.mean()):.3g}."
    return ""


def _permuted(got: torch.Tensor, want: torch.Tensor) -> str:
    numbers = want.numel() > 1 and bool((want != want.flatten()[0]).any())
    if numbers and _close(got.flatten().sort().values, want.flatten().sort().values):
        return "All the right numbers are there, but in the wrong order."
    return ""


def _one_sample(got: torch.Tensor, want: torch.Tensor) -> str:
    if want.dim() < 3 or len(want) < 2 or not _close(got[0], want[0]):
        return ""
    return "Sample 0 is right and a later one is wrong: does the result depend on the batch?"


RULES: Sequence[Callable[[torch.Tensor, torch.Tensor], str]] = (
    _not_finite, _inverted, _future, _transposed, _sums, _ratio, _offset, _one_sample, _permuted,
)  # fmt: skip


def _count(got: torch.Tensor, want: torch.Tensor, what: str) -> str:
    wrong = int((~torch.isclose(got.double(), want.double(), CLOSE, CLOSE, equal_nan=True)).sum())
    return f"{what} is wrong in {wrong} of {want.numel()} entries."
