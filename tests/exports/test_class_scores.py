"""Exports see the newest attempt, the scores given by hand, and nbgrader's lateness and penalties."""

import pytest
from tiny_course import LESSON

from autograder.exports.class_scores import ClassScores, class_scores
from autograder.model.course import Course
from autograder.model.errors import CourseError


def test_everybody_is_there_with_what_they_earned(scores: ClassScores) -> None:
    """Scores by hand count; Bo loses two points through nbgrader's plugin for late submissions."""
    assert scores.students == ["ada", "bo", "cyd", "di", "eve"]
    (lesson,) = scores.lessons
    assert (lesson.lesson, lesson.max_score) == (LESSON, 20)
    ada, bo = lesson.scores["ada"], lesson.scores["bo"]
    assert (ada.earned, ada.seconds_late, ada.penalty) == (20, 0, 0)
    assert (bo.report.score, bo.seconds_late, bo.penalty, bo.earned) == (19.5, 24 * 3600, 2, 17.5)


def test_what_is_pending_or_was_not_graded_has_no_number(scores: ClassScores) -> None:
    """Never a zero; the points so far only if asked for."""
    (lesson,) = scores.lessons
    assert [lesson.cell(name, partial=False) for name in ("cyd", "di", "eve")] == [None, None, None]
    assert [lesson.cell(name, partial=True) for name in ("cyd", "di", "eve")] == [18, None, None]
    assert scores.pending() == 1


def test_a_penalty_never_makes_a_score_negative(scores: ClassScores) -> None:
    """Nbgrader's own export stops at zero too."""
    bo = scores.lessons[0].scores["bo"]
    nothing = bo.report.with_exercises([])
    assert type(bo)(nothing, None, 60.0, 2.0, True).earned == 0


def test_what_was_never_graded_cannot_be_exported(course: Course) -> None:
    """The message says what to run."""
    with pytest.raises(CourseError, match="no scores of any lesson to export: run 'autograder grade' first"):
        class_scores(course)
    with pytest.raises(CourseError, match=f"run 'autograder grade {LESSON}' first"):
        class_scores(course, [LESSON])
