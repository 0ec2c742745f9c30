"""Where two values differ, in the first respect that matters: type, shape, dtype, NaN, numbers."""

import math
from dataclasses import dataclass
from typing import Any

import torch

from autograder.model.observation import Observation
from autograder.probe.answer import kind_of
from autograder.probe.wire import Opaque

ATOL, RTOL = 1e-4, 1e-4


@dataclass(frozen=True)
class Difference:
    """The first difference found: its kind, where in the result, and what to say of it."""

    kind: str
    where: str
    text: str

    @property
    def about_numbers(self) -> bool:
        """Whether everything agrees but the numbers."""
        return self.kind in ("value", "nan", "inf")


@dataclass(frozen=True)
class Tolerance:
    """How far numbers may lie apart. Where `values` is False, only their form counts."""

    atol: float = ATOL
    rtol: float = RTOL
    values: bool = True


def difference(got: Any, want: Any, *, atol: float = ATOL, rtol: float = RTOL) -> Difference | None:
    """Return how `got` differs from `want`, or None if they agree within tolerance."""
    return _difference(got, want, Tolerance(atol, rtol), "")


def same(a: Observation, b: Observation) -> bool:
    """Return whether nothing tells two observations apart: value, exception, side effects."""
    if a.ended or b.ended:
        return False
    if (a.raised is None) != (b.raised is None) or a.changed != b.changed:
        return False
    if a.raised and b.raised:
        structural = a.raised.structural or b.raised.structural
        return a.raised.kind == b.raised.kind and (
            not structural or a.raised.message == b.raised.message
        )
    return difference(a.value, b.value) is None and difference(b.value, a.value) is None


def same_form(got: Any, want: Any) -> bool:
    """Return whether two values agree but for their numbers and texts."""
    return _difference(got, want, Tolerance(values=False), "") is None


def _difference(got: Any, want: Any, tolerance: Tolerance, where: str) -> Difference | None:
    if isinstance(want, torch.Tensor):
        return _tensors(got, want, tolerance, where)
    if isinstance(want, (list, tuple)):
        return _sequences(got, want, tolerance, where)
    if isinstance(want, dict):
        return _mappings(got, want, tolerance, where)
    return _scalars(got, want, tolerance, where)


def _tensors(got: Any, want: torch.Tensor, tolerance: Tolerance, where: str) -> Difference | None:
    if not isinstance(got, torch.Tensor):
        return _wrong_type(got, "a tensor", where)
    if got.shape != want.shape:
        text = f"{_subject(where)} has shape {_shape(got)}; {_shape(want)} was expected"
        return Difference("shape", where, text)
    if got.dtype != want.dtype:
        text = f"{_subject(where)} is {_dtype(got)}; {_dtype(want)} was expected"
        return Difference("dtype", where, text)
    return _numbers(got, want, tolerance, where) if tolerance.values else None


def _numbers(
    got: torch.Tensor, want: torch.Tensor, tolerance: Tolerance, where: str
) -> Difference | None:
    wrong = got != want
    if want.is_floating_point():
        near = torch.isclose(got, want, atol=tolerance.atol, rtol=tolerance.rtol, equal_nan=True)
        wrong = ~near
    if not wrong.any():
        return None
    if got.is_floating_point() and not got.isfinite().all() and want.isfinite().all():
        return _not_finite(got, where)
    if not want.dim():
        return _scalars(got.item(), want.item(), Tolerance(0.0, 0.0), where)
    return _first_wrong_entry(got, want, wrong, where)


def _first_wrong_entry(
    got: torch.Tensor, want: torch.Tensor, wrong: torch.Tensor, where: str
) -> Difference:
    """Count the wrong entries and show the first; of floats, what was expected is not told."""
    index = tuple(wrong.nonzero()[0].tolist())
    expected = "" if want.is_floating_point() else f"; {_number(want[index])} was expected"
    text = (
        f"{_subject(where)} has {int(wrong.sum())} of {wrong.numel()} entries that are wrong. "
        f"The first is at {list(index)}, where yours is {_number(got[index])}{expected}"
    )
    return Difference("value", where, text)


def _not_finite(got: torch.Tensor, where: str) -> Difference:
    index = tuple(int(i) for i in (~got.isfinite()).nonzero()[0])
    kind = "NaN" if got[index].isnan() else "an infinity"
    text = f"{_subject(where)} holds {kind} at {list(index)}; every number should be finite here"
    return Difference("nan" if kind == "NaN" else "inf", where, text)


def _sequences(got: Any, want: Any, tolerance: Tolerance, where: str) -> Difference | None:
    if not isinstance(got, (list, tuple)):
        wanted = "a tuple" if isinstance(want, tuple) else "a list"
        return _wrong_type(got, f"{wanted} of {len(want)}", where)
    if len(got) != len(want):
        text = f"{_subject(where)} has {len(got)} entries; {len(want)} were expected"
        return Difference("length", where, text)
    pairs = enumerate(zip(got, want, strict=True))
    found = (_difference(mine, right, tolerance, f"{where}[{n}]") for n, (mine, right) in pairs)
    return next(filter(None, found), None)


def _mappings(
    got: Any, want: dict[Any, Any], tolerance: Tolerance, where: str
) -> Difference | None:
    if not isinstance(got, dict):
        return _wrong_type(got, "a dictionary", where)
    for key, value in want.items():
        if key not in got:
            return Difference("key", where, f"{_subject(where)} has no entry {key!r}")
        found = _difference(got[key], value, tolerance, f"{where}[{key!r}]")
        if found:
            return found
    extra = [key for key in got if key not in want]
    text = f"{_subject(where)} has an unexpected entry {extra[0]!r}" if extra else ""
    return Difference("key", where, text) if extra else None


def _scalars(got: Any, want: Any, tolerance: Tolerance, where: str) -> Difference | None:
    if isinstance(want, Opaque):
        return None if got == want else _wrong_type(got, want.kind, where)
    if isinstance(want, float):
        if isinstance(got, bool) or not isinstance(got, (int, float)):
            return _wrong_type(got, "a float", where)
    elif type(got) is not type(want):
        return _wrong_type(got, f"a value of type {kind_of(want)}", where)
    if not tolerance.values or _equal(got, want, tolerance):
        return None
    came = f"{_short(got)}, which is not right"
    if isinstance(want, float):
        came = f"{got:.4g}" + (f", {got / want:.4g} times what it should be" if want else "")
    return Difference("value", where, f"{_subject(where)} is {came}")


def _equal(got: Any, want: Any, tolerance: Tolerance) -> bool:
    if not isinstance(want, float):
        return bool(got == want)
    near = math.isclose(got, want, abs_tol=tolerance.atol, rel_tol=tolerance.rtol)
    return near or (math.isnan(got) and math.isnan(want))


def _wrong_type(got: Any, wanted: str, where: str) -> Difference:
    if got is None:
        missing = "" if where else " (is there a `return`?)"
        return Difference(
            "none", where, f"{_subject(where)} is None; {wanted} was expected{missing}"
        )
    kind = got.kind if isinstance(got, Opaque) else kind_of(got)
    return Difference("type", where, f"{_subject(where)} is of type {kind}; {wanted} was expected")


def _subject(where: str) -> str:
    """Name a part of the result: '[0]' is 'Entry 0 of the result'."""
    steps = where.strip("[]").split("][") if where else []
    return f"Entry {' of entry '.join(steps[::-1])} of the result" if steps else "The result"


def _shape(tensor: torch.Tensor) -> str:
    return str(tuple(tensor.shape))


def _dtype(tensor: torch.Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def _number(value: torch.Tensor) -> str:
    return f"{value.item():.4g}" if value.is_floating_point() else str(value.item())


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}…"
