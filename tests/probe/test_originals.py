"""What a student's code replaces is put back, and noted."""

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
