"""A wrong shape is told by its dimensions, and never by a size."""

import re

import pytest

from autograder.judge.shapes import shape_difference


@pytest.mark.parametrize(
    ("got", "want", "said"),
    [
        ((2, 7, 5), (2, 5, 7), "dimensions 1 and 2 swapped"),
        ((5, 7, 2), (2, 5, 7), "dimensions 0, 1 and 2 in the wrong order"),
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
