"""A difference is told by its kind and place; a value is never told."""

import re
from typing import Any

import pytest
import torch

from coursework.engine.compare import difference, shape_difference, times
from coursework.engine.values import Opaque

NAMES = frozenset(["encoder"])
TOKENS = torch.arange(12).reshape(1, 3, 2, 2)  # in two heads


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


@pytest.mark.parametrize(
    ("got", "said"),
    [
        (TOKENS.transpose(1, 2).mT, "dimensions 2 and 3 swapped"),
        (TOKENS.transpose(1, 3), "dimensions 1, 2 and 3 in the wrong order"),
        (TOKENS.transpose(1, 2).mT * 2, "the sizes of dimensions 2 and 3 swapped"),
        (TOKENS.reshape(1, 2, 2, 3), "the sizes of dimensions 2 and 3 swapped"),
    ],
)
def test_dimensions_are_swapped_only_if_the_numbers_are(got: torch.Tensor, said: str) -> None:
    """Where two dimensions have one size, the shape alone does not tell which ones were moved."""
    found = difference(got, TOKENS.transpose(1, 2))
    assert found is not None
    assert found.text == f"The result has {said}."


def test_of_equal_numbers_only_the_sizes_are_swapped() -> None:
    """They fit in any order, and a mask may be all ones."""
    found = difference(torch.ones(2, 3), torch.ones(3, 2))
    assert found is not None
    assert found.text == "The result has the sizes of dimensions 0 and 1 swapped."
    assert difference(torch.ones(4, 0), torch.ones(0, 4)) is not None


@pytest.mark.parametrize(
    ("got", "want", "said"),
    [
        ((2, 7, 5), (2, 5, 7), "the sizes of dimensions 1 and 2 swapped"),
        ((5, 7, 2), (2, 5, 7), "the sizes of dimensions 0, 1 and 2 in the wrong order"),
        ((2, 5, 7, 1), (2, 5, 7), "one dimension too many, at the end"),
        ((1, 2, 5, 7), (2, 5, 7), "one dimension too many, at the beginning"),
        ((2, 3, 5, 7), (2, 5, 7), "one dimension too many: dimension 1"),
        ((2, 3, 4, 7), (2, 5, 7), "one dimension too many"),
        ((2, 7), (2, 5, 7), "one dimension too few: dimension 1 is missing"),
        ((), (2, 5, 7), "0 dimensions instead of 3"),
        ((1,) * 40, (2, 5, 7), "too many dimensions instead of 3"),
        (
            (2, 5, 20),
            (2, 5, 10),
            "the wrong size in dimension 2: it is 2 times as large as it should be",
        ),
        ((2, 5, 5), (2, 5, 7), "the wrong size in dimension 2: it has the size of dimension 1"),
        ((2, 6, 9), (2, 6, 8), "the wrong size in dimension 2: it is 1 too large"),
        ((2, 5, 917), (2, 5, 8), "the wrong size in dimension 2: it is too large"),
        ((0, 5), (3, 5), "the wrong size in dimension 0: it is too small"),
        ((917, 5, 918), (2, 5, 8), "the wrong size in dimensions 0 and 2"),
    ],
)
def test_a_shape_is_told_without_its_sizes(
    got: tuple[int, ...], want: tuple[int, ...], said: str
) -> None:
    """Which dimensions are exchanged, missing, left over, or of another size."""
    assert shape_difference(got, want) == said
    assert not re.search("917|918|40", said)
