"""What a student's code replaces is put back, and noted."""

import contextlib
import inspect
from types import ModuleType

import pytest
import torch

from autograder.probe.notes import Notes
from autograder.probe.originals import Originals


class Equal:
    """Says that it equals everything, as hostile code might."""

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0

    def __call__(self) -> None:
        """Be callable, as what it stands for."""


def test_what_is_replaced_deleted_or_hidden_is_put_back() -> None:
    """Also by something that claims to be equal; and an attribute that hides an inherited one goes."""
    notes, originals = Notes(), Originals()
    relu, forward, softmax = torch.relu, torch.nn.Linear.forward, torch.softmax
    torch.relu = Equal()  # type: ignore[assignment]
    torch.nn.Linear.forward = Equal()  # type: ignore[method-assign, assignment]
    torch.nn.Linear.train = Equal()  # type: ignore[method-assign, assignment]
    del torch.softmax
    originals.restore(notes)
    assert (torch.relu, torch.nn.Linear.forward, torch.softmax) == (relu, forward, softmax)
    assert torch.relu is relu
    assert "train" not in vars(torch.nn.Linear)
    assert {detail for _, detail in notes.take()} == {"torch.relu", "torch.softmax", "Linear.forward", "Linear.train"}


def test_nothing_is_noted_where_nothing_was_replaced() -> None:
    """However often it looks."""
    notes, originals = Notes(), Originals()
    for _ in range(3):
        originals.restore(notes)
    assert notes.take() == []


@pytest.mark.parametrize(
    ("module", "name"),
    [
        (torch.autograd, "backward"),
        (torch.utils._pytree, "tree_map"),
        (contextlib, "contextmanager"),
        (inspect, "getsource"),
    ],
)
def test_what_the_probe_uses_is_put_back(module: ModuleType, name: str) -> None:
    """Else a wrong answer could have the next question answered by a function of its own."""
    notes, originals, before = Notes(), Originals(), getattr(module, name)
    setattr(module, name, Equal())
    originals.restore(notes)
    assert getattr(module, name) is before
    assert [detail for _, detail in notes.take()] == [f"{module.__name__}.{name}"]


def test_a_module_that_shows_another_dictionary_is_put_back() -> None:
    """What it says of itself is not asked."""
    held = torch.nn.init
    notes, originals, before = Notes(), Originals(), held.zeros_

    class Shown(ModuleType):
        __dict__ = property(lambda _: {"zeros_": before})  # type: ignore[assignment]
        __name__ = property(lambda _: setattr(held, "zeros_", Equal()))  # type: ignore[assignment]

    held.zeros_ = Equal()  # type: ignore[assignment]
    held.__class__ = Shown
    try:
        originals.restore(notes)
    finally:
        held.__class__ = ModuleType
    assert held.zeros_ is before


def test_it_looks_again_after_every_change() -> None:
    """The same replacement is put back each time, in a module and in a class, and each is noted once."""
    notes, originals = Notes(), Originals()
    relu, forward = torch.relu, torch.nn.Linear.forward
    for _ in range(3):
        torch.relu = torch.nn.Linear.forward = Equal()  # type: ignore[assignment, method-assign]
        originals.restore(notes)
        assert torch.relu is relu
        assert torch.nn.Linear.forward is forward
        assert {detail for _, detail in notes.take()} == {"torch.relu", "Linear.forward"}


def test_what_is_put_back_by_the_code_itself_is_not_noted() -> None:
    """A context manager that replaces a function and restores it has changed nothing."""
    notes, originals, relu = Notes(), Originals(), torch.relu
    torch.relu = torch.tanh
    torch.relu = relu
    originals.restore(notes)
    assert notes.take() == []


def test_a_change_by_way_of_the_dictionary_is_seen() -> None:
    """Not only assignments to attributes change what a module holds."""
    notes, originals, relu = Notes(), Originals(), torch.relu
    vars(torch).update(relu=torch.tanh)
    originals.restore(notes)
    assert torch.relu is relu
