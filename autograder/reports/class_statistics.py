"""Statistics of a class: how scores are spread, and how well an exercise tells students apart.

Each works on shares from 0 to 1 of points that have been graded. What is pending is in none of them.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import fmean, pstdev, quantiles

BINS = 10
FEWEST = 10  # answers without which a correlation says nothing


@dataclass(frozen=True)
class Bin:
    """One bar of a distribution: from `low` to `high` percent, `height` of the tallest bar."""

    low: int
    high: int
    count: int
    height: float


@dataclass(frozen=True)
class Spread:
    """The middle of some shares, and the quarters on both sides of it."""

    count: int
    mean: float
    low: float
    median: float
    high: float


def spread(shares: Sequence[float]) -> Spread | None:
    """Return mean, median and quartiles; None without shares.

    Quartiles are interpolated between the two nearest values (`statistics.quantiles`, inclusive).
    """
    if not shares:
        return None
    values = [*shares, *shares] if len(shares) == 1 else list(shares)
    low, middle, high = quantiles(values, n=4, method="inclusive")
    return Spread(len(shares), fmean(shares), low, middle, high)


def bins(shares: Sequence[float]) -> list[Bin]:
    """Count shares in equal bins; the last one includes full scores."""
    # 1e-9 puts 0.6 / 0.2, which is just below 3 in floating point, into the bin that starts at 0.6
    counts = Counter(min(max(int(share * BINS + 1e-9), 0), BINS - 1) for share in shares)
    tallest, width = max(counts.values(), default=1), 100 // BINS
    return [
        Bin(index * width, (index + 1) * width, counts[index], counts[index] / tallest)
        for index in range(BINS)
    ]


def point_biserial(right: Sequence[bool], others: Sequence[float]) -> float | None:
    """Return the correlation of a right answer with the rest of the lesson, from -1 to 1.

    With M1 and M0 the means of `others` among right and wrong answers, p and q their shares, and s
    the standard deviation of all `others` (divided by n):

        r = (M1 - M0) / s * sqrt(p q)

    `others` leave out the exercise itself, which would otherwise correlate with its own points.
    Returns None for fewer than 10 answers, and where all are right, all are wrong, or `others` are
    all the same.

    Sources: F. M. Lord and M. R. Novick, Statistical Theories of Mental Test Scores (1968);
    S. Henrysson, Correction of item-total correlations in item analysis, Psychometrika 28 (1963).
    """
    ones = [other for is_right, other in zip(right, others, strict=True) if is_right]
    zeros = [other for is_right, other in zip(right, others, strict=True) if not is_right]
    deviation = pstdev(others) if others else 0.0
    if len(others) < FEWEST or not ones or not zeros or deviation < 1e-9:
        return None
    share = len(ones) / len(others)
    return (fmean(ones) - fmean(zeros)) / deviation * sqrt(share * (1 - share))
