"""What could run a student's code while torch has its modes off is refused or wrapped; all else passes as it is."""

import array
import fractions
import operator
from collections import UserList, deque
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from autograder.probe import handed_over
from autograder.probe.handed_over import ForeignObjectError, handed, runs_no_code


@pytest.fixture(autouse=True)
def students_classes(monkeypatch: pytest.MonkeyPatch) -> Iterator[type]:
    """A class that comes after the others were remembered, as a student's does."""
    for name in ("_known", "_holders", "_torchs"):
        monkeypatch.setattr(handed_over, name, set())
    handed_over.remember()

    class Number:
        def __index__(self) -> int:
            return 1

    return Number


def _same(function: Callable[..., Any]) -> Callable[..., Any]:
    return function


def _noted(value: Any) -> torch.Tensor:
    x = torch.ones(2)
    x.note = value  # type: ignore[attr-defined]
    return x


PLAIN = [1, 2.0, None, ..., "ij,jk", torch.ones(2), nn.Parameter(torch.ones(2)), np.ones(2), np.float32(1)]
PLAIN += [slice(0, 2), (slice(None), 0, torch.tensor([1])), [torch.ones(1), 2], torch.float64, torch.Size([2])]
PLAIN += [array.array("f", [1.0]), _noted("rows"), range(3), {"a": 1}, torch.ones(2).max(0)]


@pytest.mark.parametrize("value", PLAIN, ids=lambda value: type(value).__name__)
def test_what_runs_no_code_is_handed_on(value: Any) -> None:
    """Numbers, text, tensors, arrays, slices, and lists of these."""
    assert handed([value], _same)[0] is value


@pytest.mark.parametrize(
    "make",
    [
        lambda own: own(),
        lambda own: slice(own(), None),
        lambda own: (slice(None), slice(own(), None)),
        lambda own: [1, own()],
        lambda own: deque([own()]),
        lambda own: UserList([own()]),
        lambda _: fractions.Fraction(1, 2),
        lambda own: np.array([own()], dtype=object),
        lambda _: _noted(len),
        lambda own: _noted(own()),
        lambda _: nn.Identity(),
    ],
)
def test_what_torch_could_ask_or_call_is_refused(
    make: Callable[[type], Any], students_classes: type
) -> None:
    """An object of the student's, however it is packed, and a module in the place of a function."""
    with pytest.raises(ForeignObjectError):
        handed([make(students_classes)], _same)


def test_a_function_is_wrapped() -> None:
    """Torch may call it back."""
    assert handed([_same], lambda _: len)[0] is len


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (torch.softmax, True),
        (torch.nn.functional.softmax, True),
        (torch.Tensor.add, True),
        (torch.Tensor.shape.__get__, True),  # type: ignore[attr-defined]
        (torch.ops.aten.add, True),
        (_same, False),
        (partial(_same), False),
        (operator.methodcaller("nope"), False),
        (students_classes, False),
    ],
)
def test_torch_says_that_its_own_functions_are_called(function: Any, expected: bool) -> None:
    """Anybody can have torch say that a function of theirs is called."""
    assert runs_no_code(function) is expected
