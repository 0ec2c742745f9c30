"""How far a wrong result is from a right one. A change that brings it nearer may be one of several to make.

A distance is 0 for what is right. Its whole part says what kind of result it is: of the right form, of
another form, an exception, or none at all, since the process ended. The rest says how near it is within its
kind.
"""

import math
from typing import Any, Final

import torch
from torch.utils._pytree import tree_leaves

from coursework.engine.compare import same_form
from coursework.engine.observation import Observation

RIGHT: Final = 0.0
OTHER_FORM: Final = 1.5
RAISED: Final = 2.0
ENDED: Final = 3.5
FARTHEST: Final = 0.99  # within a kind
NEARER: Final = 0.97  # of another distance, at most, is what is nearer


def distance(got: Observation, expected: Observation) -> float:
    """Return how far a result that is wrong is from the expected one.

    Of two exceptions, the one that comes further down in the cell is nearer.
    """
    if got.raised and not expected.raised:
        return RAISED + FARTHEST * 0.5 ** min(got.raised.line or 0, 50)
    if expected.raised or not same_form(got.value, expected.value):
        return OTHER_FORM
    pairs = zip(tree_leaves(got.value), tree_leaves(expected.value), strict=True)
    errors = [_error(mine, right) for mine, right in pairs]
    mean = math.fsum(errors) / max(1, len(errors))
    return min(mean, FARTHEST) or FARTHEST  # what is wrong in another respect


def is_nearer(one: float, other: float) -> bool:
    """Return whether one distance is smaller than another, by more than a rounding."""
    return int(one) < int(other) or (int(one) == int(other) and one % 1 < NEARER * (other % 1))


def _error(got: Any, want: Any) -> float:
    """Return an error between 0 and 1: how many entries are off, and by how much."""
    if isinstance(want, torch.Tensor):
        return _mean_error(got, want) if got.shape == want.shape else 1.0
    if isinstance(want, (int, float)) and isinstance(got, (int, float)):
        return _mean_error(torch.tensor([float(got)]), torch.tensor([float(want)]))
    return float(got != want)


def _mean_error(got: torch.Tensor, want: torch.Tensor) -> float:
    if not want.numel():
        return 0.0
    got, want = got.double(), want.double()
    off = (~torch.isclose(got, want, rtol=1e-4, atol=1e-4, equal_nan=True)).double()
    size = want.abs().nan_to_num(0.0, 0.0, 0.0).mean() + 1e-6
    relative = ((got - want).abs() / size).nan_to_num(1.0, 1.0).clamp(max=1.0) * off
    return float((off.mean() + relative.mean()) / 2)
