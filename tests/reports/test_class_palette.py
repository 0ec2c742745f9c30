"""The numbers in the heat map can be read on every colour of it."""

import pytest

from autograder.reports.class_palette import DARK, LIGHT, Step, step


def _luminance(colour: str) -> float:
    """Return the relative luminance of a colour, by WCAG 2.2."""
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return sum(weight * c for weight, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@pytest.mark.parametrize("colours", [*LIGHT, *DARK], ids=lambda colours: colours[0])
def test_text_stands_out_by_wcag(colours: Step) -> None:
    """The contrast is at least 4.5 to 1."""
    low, high = sorted(map(_luminance, colours))
    assert (high + 0.05) / (low + 0.05) >= 4.5


@pytest.mark.parametrize(("share", "number"), [(0, 0), (0.04, 0), (0.5, 5), (0.96, 10), (1, 10), (1.5, 10)])
def test_steps_go_from_nothing_to_everything(share: float, number: int) -> None:
    """Both ends have a step; a bonus beyond 100 % has the last."""
    assert step(share) == number
    assert len(LIGHT) == len(DARK) == 11
