"""The drawn figures: what a box says lies in the box."""

import itertools
import sys

import pytest
from conftest import ROOT


@pytest.fixture
def draw_map(monkeypatch: pytest.MonkeyPatch) -> object:
    """Give the program that draws the maps; its neighbours are found as if it were run."""
    monkeypatch.setattr(sys, "path", [str(ROOT / "images"), *sys.path])
    import draw_map

    monkeypatch.setattr(draw_map, "save", lambda figure, name: figure.clear())
    return draw_map


@pytest.mark.parametrize("lesson", range(1, 9))
def test_every_name_on_a_map_lies_in_its_box(draw_map: object, lesson: int) -> None:
    """Bold where the reader is, which takes more room; a name that is too long is refused."""
    draw_map.draw_map(lesson)


def test_the_map_ends_with_the_extra_lesson(draw_map: object) -> None:
    """All nine are listed; the last stands apart, and within the page."""
    chart = draw_map.Map(draw_map.page(14.0, 6.75)[1], 1)
    draw_map.legend(chart)
    numbers = [text.get_text()[0] for text in chart.ax.texts if text.get_text()[0].isdigit()]
    assert numbers == list("123456789")
    boxes = [patch.get_bbox() for patch in chart.ax.patches]
    gaps = [right.x0 - left.x1 for left, right in itertools.pairwise(boxes)]
    assert gaps[-1] > 2 * max(gaps[:-1])
    assert boxes[-1].x1 < 14.0


def test_a_name_that_leaves_its_box_is_refused(draw_map: object) -> None:
    """The message says what it takes."""
    chart = draw_map.Map(draw_map.page(14.0, 6.75)[1], 1)
    with pytest.raises(ValueError, match="'embeddings' takes"):
        chart.part(1, (2.0, 2.0), (1.0, 0.5), "embeddings")
