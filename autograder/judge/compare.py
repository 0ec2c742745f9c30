"""Where two values differ, in the first respect that matters: type, shape, dtype, NaN, numbers."""

import math
from dataclasses import dataclass
from typing import Any

import torch

from autograder.judge.observation import Observation
from autograder.probe.scenarios import kind_of
from autograder.probe.wire import Opaque

ATOL, RTOL = 1e-4, 1e-4


@dataclass(frozen=True)
class Difference:
    """The first difference found: its kind, where in the result, and what to say of it."""

    kind: str
    where: str
    text: str


def difference(
    got: Any, want: Any, *, atol: float = ATOL, rtol: float = RTOL, where: str = ""
) -> Difference | None:
    """Return how `got` differs from `want`, or None where they agree within tolerance."""
    if isinstance(want, torch.Tensor):
        return _tensors(got, want, atol, rtol, where)
    if isinstance(want, (list, tuple)):
        return _sequences(got, want, atol, rtol, where)
    if isinstance(want, dict):
        return _mappings(got, want, atol, rtol, where)
    return _scalars(got, want, atol, rtol, where)


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
    """Return whether two values are alike but for their numbers and texts."""
    if isinstance(want, torch.Tensor):
        alike = isinstance(got, torch.Tensor) and got.shape == want.shape
        return alike and got.dtype == want.dtype
    if isinstance(want, dict):
        keys = isinstance(got, dict) and got.keys() == want.keys()
        return keys and all(same_form(got[key], value) for key, value in want.items())
    if isinstance(want, (list, tuple)):
        if not isinstance(got, (list, tuple)) or len(got) != len(want):
            return False
        return all(same_form(one, other) for one, other in zip(got, want, strict=True))
    return type(got) is type(want)


def _tensors(
    got: Any, want: torch.Tensor, atol: float, rtol: float, where: str
) -> Difference | None:
    if not isinstance(got, torch.Tensor):
        return _wrong_type(got, "a tensor", where)
    if got.shape != want.shape:
        text = f"{_subject(where)} has shape {_shape(got)}; {_shape(want)} was expected"
        return Difference("shape", where, text)
    if got.dtype != want.dtype:
        return Difference(
            "dtype", where, f"{_subject(where)} is {_dtype(got)}; {_dtype(want)} was expected"
        )
    return _numbers(got, want, atol, rtol, where)


def _numbers(
    got: torch.Tensor, want: torch.Tensor, atol: float, rtol: float, where: str
) -> Difference | None:
    if not want.is_floating_point():
        wrong = got != want
    else:
        wrong = ~torch.isclose(got, want, atol=atol, rtol=rtol, equal_nan=True)
    if not wrong.any():
        return None
    index = tuple(int(i) for i in wrong.nonzero()[0])
    if got.is_floating_point() and not got.isfinite().all() and want.isfinite().all():
        return _not_finite(got, where)
    share = int(wrong.sum())
    text = (
        f"{_subject(where)} has {share} of {wrong.numel()} numbers that differ from what was expected; "
        f"the first is at {_place(index)}, where yours is {_number(got[index])}"
    )
    return Difference("value", where, text)


def _not_finite(got: torch.Tensor, where: str) -> Difference:
    index = tuple(int(i) for i in (~got.isfinite()).nonzero()[0])
    kind = "NaN" if got[index].isnan() else "an infinity"
    text = f"{_subject(where)} holds {kind} at {_place(index)}; every number should be finite here"
    return Difference("nan" if kind == "NaN" else "inf", where, text)


def _sequences(got: Any, want: Any, atol: float, rtol: float, where: str) -> Difference | None:
    if not isinstance(got, (list, tuple)):
        wanted = "a tuple" if isinstance(want, tuple) else "a list"
        return _wrong_type(got, f"{wanted} of {len(want)}", where)
    if len(got) != len(want):
        return Difference(
            "length", where, f"{_subject(where)} has {len(got)} entries; {len(want)} were expected"
        )
    for index, (one, other) in enumerate(zip(got, want, strict=True)):
        found = difference(one, other, atol=atol, rtol=rtol, where=f"{where}[{index}]")
        if found:
            return found
    return None


def _mappings(
    got: Any, want: dict[Any, Any], atol: float, rtol: float, where: str
) -> Difference | None:
    if not isinstance(got, dict):
        return _wrong_type(got, "a dictionary", where)
    for key, value in want.items():
        if key not in got:
            return Difference("key", where, f"{_subject(where)} has no entry {key!r}")
        found = difference(got[key], value, atol=atol, rtol=rtol, where=f"{where}[{key!r}]")
        if found:
            return found
    extra = [key for key in got if key not in want]
    return (
        Difference("key", where, f"{_subject(where)} has an unexpected entry {extra[0]!r}")
        if extra
        else None
    )


def _scalars(got: Any, want: Any, atol: float, rtol: float, where: str) -> Difference | None:
    if isinstance(want, Opaque):
        return None if got == want else _wrong_type(got, want.kind, where)
    if isinstance(want, float):
        if isinstance(got, bool) or not isinstance(got, (int, float)):
            return _wrong_type(got, "a float", where)
        close = math.isclose(got, want, abs_tol=atol, rel_tol=rtol) or (got != got and want != want)  # noqa: PLR0124 - NaN
        return (
            None
            if close
            else Difference("value", where, f"{_subject(where)} is {got:.4g}, which is not right")
        )
    if type(got) is not type(want):
        return _wrong_type(got, f"a value of type {kind_of(want)}", where)
    return (
        None
        if got == want
        else Difference("value", where, f"{_subject(where)} is {_short(got)}, which is not right")
    )


def _wrong_type(got: Any, wanted: str, where: str) -> Difference:
    if got is None:
        return Difference(
            "none", where, f"{_subject(where)} is None; {wanted} was expected. Is there a return?"
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


def _place(index: tuple[int, ...]) -> str:
    return f"[{', '.join(map(str, index))}]" if index else "its only entry"


def _number(value: torch.Tensor) -> str:
    return f"{value.item():.4g}" if value.is_floating_point() else str(value.item())


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}…"
