"""Compares results of examples: whether they are equal within rounding."""

import math
from collections.abc import Mapping
from typing import Any

import torch

from coursework.instant.examples import Result
from coursework.instant.values import Other

ATOL, RTOL = 1e-4, 1e-4


def same_value(a: Any, b: Any) -> bool:
    """Return whether two values are equal, tensors and floats within rounding, types included."""
    if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
        return same_form(a, b) and _close(a, b)
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        pairs = zip(a, b, strict=False)
        return type(a) is type(b) and len(a) == len(b) and all(same_value(*pair) for pair in pairs)
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return a.keys() == b.keys() and all(same_value(a[key], b[key]) for key in a)
    if isinstance(a, Other) or isinstance(b, Other):
        return _kind(a) == _kind(b)
    return _same_scalar(a, b)


def same_form(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Return whether two tensors agree in shape and dtype."""
    return a.shape == b.shape and a.dtype == b.dtype


def _close(a: torch.Tensor, b: torch.Tensor) -> bool:
    if not a.is_floating_point():
        return bool(torch.equal(a, b))
    return bool(torch.allclose(a, b, ATOL, RTOL, equal_nan=True))


def _same_scalar(a: Any, b: Any) -> bool:
    if isinstance(a, bool) or isinstance(b, bool) or not _are_numbers(a, b):
        return type(a) is type(b) and bool(a == b)
    return math.isclose(a, b, rel_tol=RTOL, abs_tol=ATOL) or (math.isnan(a) and math.isnan(b))


def _are_numbers(a: Any, b: Any) -> bool:
    return isinstance(a, (int, float)) and isinstance(b, (int, float))


def _kind(value: Any) -> str:
    return value.kind if isinstance(value, Other) else type(value).__name__


def is_right(got: Result, expected: Result) -> bool:
    """Return whether a result is as it should be. Of an exception only the type counts."""
    if expected.raised or got.raised:
        return got.raised == expected.raised
    return not got.changed and same_value(_plain(got.value), _plain(expected.value))


def _plain(value: Any) -> Any:
    """Return a value without what a right answer may do in its own way: a list for a tuple."""
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value
