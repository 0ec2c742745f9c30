"""A run over several lessons says what it leaves out."""

from io import StringIO

import pytest
from rich.console import Console
from tiny_course import LESSON, RIGHT, hand_in

from autograder.grading import course_run
from autograder.grading.course_run import grade_lessons
from autograder.model.course import Course


@pytest.mark.parametrize("folder", ["3", "attention"])
def test_a_folder_that_no_lesson_has_is_left_out_aloud(
    course: Course, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A student's work under a wrong name would otherwise look as if it had not been handed in."""
    monkeypatch.setattr(course_run, "grade_lesson", lambda *_, **__: [])
    hand_in(course, "alice", **RIGHT)
    said = StringIO()
    grade_lessons(course, [LESSON], workers=1, console=Console(file=said))
    assert said.getvalue() == ""
    (course.submitted / "bob" / folder).mkdir(parents=True)
    grade_lessons(course, [LESSON], workers=1, console=Console(file=said))
    assert said.getvalue() == f"left out because no lesson has that name: 'bob/{folder}'\n"
