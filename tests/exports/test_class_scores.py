"""Exports see the newest attempt, the scores given by hand, and nbgrader's lateness and penalties."""

import csv

import pytest
from tiny_course import LESSON

from autograder.exports.class_scores import ClassScores, class_scores, course_csv, nbgrader_csv
from autograder.exports.gradescope import results_json
from autograder.exports.roster import Roster
from autograder.model.course import Course
from autograder.model.errors import CourseError
from autograder.reports import feedback_exporter
from autograder.reports.publish import publish
from autograder.storage.gradebook import open_gradebook

from .conftest import by_hand


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


def test_points_by_hand_for_an_unreadable_file_count_everywhere(graded: Course) -> None:
    """In every file and on the pages, as in `nbgrader export`; a comment is shown even without points."""
    with open_gradebook(graded) as book:
        book.find_comment("why", LESSON, LESSON, "di").manual_comment = "You sent it by e-mail."
        book.db.commit()
    di = class_scores(graded).lessons[0].scores["di"]
    assert feedback_exporter.make_pages(graded, LESSON, ["di"]) == {}
    page = graded.feedback_page("di", LESSON)
    assert all(text in page.read_text(encoding="utf-8") for text in ("Not graded", "You sent it by e-mail."))
    assert "You sent it by e-mail." in results_json(di.report, comments=di.comments)
    by_hand(graded, "di", 1.5)
    scores = class_scores(graded)
    (lesson,) = scores.lessons
    assert lesson.cell("di", partial=False) == 1.5
    rows = {row["student"]: row for row in csv.DictReader(course_csv(scores, Roster()).splitlines())}
    assert (rows["di"][f"{LESSON} score"], rows["di"]["total"], rows["di"][f"{LESSON} state"]) == ("1.5", "1.5", "graded")
    rows = {row["student_id"]: row for row in csv.DictReader(nbgrader_csv(scores, Roster(), partial=False).splitlines())}
    assert rows["di"]["score"] == "1.5"
    publish(graded, [LESSON])
    rows = {row["student"]: row for row in csv.DictReader((graded.reports / f"{LESSON}.csv").read_text().splitlines())}
    assert (rows["di"]["why"], rows["di"]["score"]) == ("1.5", "1.5")
    assert feedback_exporter.make_pages(graded, LESSON, ["di"]) == {}
    text = page.read_text(encoding="utf-8")
    assert all(part in text for part in ("<strong>1.5</strong> of 20", "graded by hand", "You sent it by e-mail."))
    assert "Not graded" not in text


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
