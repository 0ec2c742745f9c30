"""Of two wrong results it is known which is nearer to the right one."""

import pytest
import torch

from autograder.search.distance import distance, is_nearer
from coursework.engine.observation import Observation, Raised

RIGHT = Observation(torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))


def off(value: object) -> float:
    """Return the distance of a value from the right one."""
    return distance(Observation(value), RIGHT)


def raised(line: int) -> float:
    """Return the distance of an exception in a line."""
    return distance(Observation(raised=Raised("ValueError", "", line=line)), RIGHT)


@pytest.mark.parametrize(
    ("near", "far"),
    [
        (off(RIGHT.value + torch.tensor([1.0, 0, 0])), off(RIGHT.value + 1)),
        (off(RIGHT.value + 1), off(RIGHT.value + 10)),
        (off(RIGHT.value + 10), off(RIGHT.value.T)),
        (off(RIGHT.value * torch.nan), off(None)),
        (off(None), raised(3)),
        (raised(4), raised(3)),
    ],
)
def test_what_is_nearer(near: float, far: float) -> None:
    """Fewer or smaller errors, the right shape, any result, an exception further down: in this order."""
    assert is_nearer(near, far)
    assert not is_nearer(far, near)


def test_what_is_wrong_is_never_at_no_distance() -> None:
    """A judge may find fault with more than the value."""
    assert off(RIGHT.value.clone()) > 0
