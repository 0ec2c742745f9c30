"""The statistics of a class agree with values worked out by hand."""

import pytest

from autograder.reports.class_statistics import FEWEST, bins, point_biserial, spread

RIGHT = [True] * 5 + [False] * 5
OTHERS = [0.9, 0.8, 0.7, 0.6, 0.5, 0.5, 0.4, 0.3, 0.2, 0.1]


def test_a_spread_has_mean_median_and_quartiles() -> None:
    """Of five values, the second and the fourth are the quartiles."""
    made = spread([1.0, 0.0, 0.2, 0.6, 0.4])
    assert made is not None
    assert (made.count, made.low, made.median, made.high) == (5, 0.2, 0.4, 0.6)
    assert made.mean == pytest.approx(0.44)


def test_a_single_value_is_its_own_quartiles_and_none_has_none() -> None:
    """A class of one is not an error."""
    made = spread([0.5])
    assert made is not None
    assert (made.count, made.low, made.median, made.high) == (1, 0.5, 0.5, 0.5)
    assert spread([]) is None


def test_every_share_lies_in_one_bar_and_boundaries_go_right() -> None:
    """Zero is in the first bar, a full score in the last, 10 % in the second."""
    made = bins([0, 0.1, 0.0995, 1, 0.975, 0.6 / 0.2 / 10])
    assert [each.count for each in made] == [2, 1, 0, 1, 0, 0, 0, 0, 0, 2]
    assert max(each.height for each in made) == 1
    assert (made[3].low, made[3].high) == (30, 40)


def test_point_biserial_by_hand() -> None:
    """M1 = 0.7, M0 = 0.3, s² = 0.06, p = q = 0.5: r = 0.4 / √0.06 · 0.5 = 2 / √6."""
    assert point_biserial(RIGHT, OTHERS) == pytest.approx(2 / 6**0.5)
    assert point_biserial([not each for each in RIGHT], OTHERS) == pytest.approx(-2 / 6**0.5)


@pytest.mark.parametrize(
    ("right", "others"),
    [
        ([], []),
        (RIGHT[1:], OTHERS[1:]),
        ([True] * 10, OTHERS),
        ([False] * 10, OTHERS),
        (RIGHT, [0.7] * 10),
    ],
)
def test_without_variation_or_with_few_answers_there_is_no_correlation(
    right: list[bool], others: list[float]
) -> None:
    """None, rather than a number that means nothing."""
    assert len(OTHERS) == FEWEST
    assert point_biserial(right, others) is None
