"""A difference is told by its kind and place; a value is never told."""

from typing import Any

import pytest
import torch

from autograder.judge.compare import difference, times
from autograder.probe.wire import Opaque

NAMES = frozenset(["encoder"])


@pytest.mark.parametrize(
    ("got", "want", "said"),
    [
        (torch.tensor([1, 5]), torch.tensor([1, 7]), "1 of 2 entries is wrong: the one at [1]."),
        (torch.ones(2, 2), torch.zeros(2, 2), "4 of 4 entries are wrong; the first is at [0, 0]."),
        ((1, torch.ones(2)), (1, torch.zeros(2)),
         "In entry 1 of the result, 2 of 2 entries are wrong; the first is at [0]."),
        (torch.tensor(0.5), torch.tensor(0.25), "The result is too large."),
        (torch.tensor([1.0, float("nan")]), torch.ones(2),
         "The result holds NaN at [1]; every number should be finite here."),
        (0.5, 0.25, "The result is too large."),
        (float("nan"), 0.25, "The result is NaN."),
        (float("inf"), 0.25, "The result is infinite."),
        (5, 7, "The result is not what it should be."),
        ("leak", "x", "The result is not what it should be."),
        (None, torch.ones(1), "The result is None; a tensor was expected. Is there a `return`?"),
        (torch.ones(1).double(), torch.ones(1), "The result is float64; float32 was expected."),
        ([1] * 917, [1], "The result has too many entries."),
        ([1], (1, 2), "The result has too few entries; 2 are expected."),
        (Opaque("Leak"), 1.0, "The result is a value of a class of your own; a float was expected."),
        (Opaque("ndarray"), torch.ones(1), "The result is a NumPy array; a tensor was expected."),
        ({"encoder": 1.0}, {"encoder": 2.0}, "`encoder` is too small."),
        ({}, {"encoder": 2.0}, "The result lacks an entry `encoder`."),
        ({"word": 1}, {"word": 2}, "One entry of the result is not what it should be."),
        ({}, {"word": 2}, "The result lacks an entry that it should have."),
        ({"leak": 1}, {}, "The result has 1 entry that it should not have."),
        (dict.fromkeys(range(917), 1), {}, "The result has many entries that it should not have."),
    ],
)  # fmt: skip
def test_a_difference_is_told_without_values(got: Any, want: Any, said: str) -> None:
    """Numbers, texts, lengths, unknown keys and unknown types stay untold."""
    found = difference(got, want, names=NAMES)
    assert found is not None
    assert found.text == said


@pytest.mark.parametrize(
    ("got", "want", "said"),
    [
        (1.0, 8.0, "0.12 times what it should be"),
        (-6.0, 2.0, "-3 times what it should be"),
        (1234.5, 1.0, "1200 times what it should be"),
        (-1.0, 1.0, "of the wrong sign"),
        (1.0001, 1.0, "slightly off"),
        (float("nan"), 1.0, "not what it should be"),
        (float("inf"), 1.0, "not what it should be"),
        (1.0, 0.0, "not what it should be"),
        (0.0, 1.0, "not what it should be"),
        (1e9, 1.0, "not what it should be"),
    ],
)
def test_a_ratio_is_told_where_it_means_something(got: float, want: float, said: str) -> None:
    """Never NaN times, never a million times."""
    assert times(got, want) == said
