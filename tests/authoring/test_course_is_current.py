"""The notebooks that are kept with the lessons are those that the lessons make."""

from pathlib import Path

import pytest

from autograder.authoring.build import check
from autograder.model.course import Course

COURSE = Course(Path(__file__).resolve().parents[2])


def test_there_are_lessons() -> None:
    """So that the next test cannot pass for want of any."""
    assert COURSE.lessons()


OTHERS = pytest.mark.full("another lesson", seconds=6)


@pytest.mark.parametrize(
    "lesson", [pytest.param(each, marks=[OTHERS] if each != "03_attention" else []) for each in COURSE.lessons()]
)
def test_notebooks_are_current(lesson: str) -> None:
    """Instructor's, released and solved notebook, and the pictures beside them."""
    check(COURSE, [lesson])
