"""What keeps attacks out keeps no model answer out: each lesson's run in the sandbox, without an incident."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import REAL_COURSE

from autograder.grading.grader import Grader

pytestmark = [
    pytest.mark.sandbox,
    pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed"),
]


@pytest.mark.parametrize("lesson", REAL_COURSE.lessons())
def test_the_model_answers_of_a_lesson_pass(
    lesson: str, hand_in: Callable[..., Path], grader: Grader
) -> None:
    """Every exercise passes, or is written and waits for a person; nothing is reported."""
    report = grader.grade(lesson, hand_in(lesson)).report
    assert {exercise.outcome for exercise in report.exercises} <= {"passed", "needs-marking"}
    assert report.incidents == []
