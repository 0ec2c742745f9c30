"""An attempt reaches every place that keeps it, and a kill in between does no harm."""

import datetime as dt

import pytest
from nbgrader.api import Gradebook
from tiny_course import LESSON, RIGHT, FakeGrader, hand_in
from tiny_fixtures import ReadGrades

from autograder.grading.grade_submission import Result, grade_submission
from autograder.model.course import Course
from autograder.reports.graded_notebook import graded_page
from autograder.storage import autograded
from autograder.storage.attempts import ERROR_LOG, AttemptLog
from autograder.storage.recorder import Recorder
from autograder.submissions.submission import Submission


def result(course: Course, **answers: str) -> Result:
    """Hand in and grade."""
    hand_in(course, "alice", **answers)
    submission = Submission(course, "alice", LESSON, "v")
    return grade_submission(FakeGrader(course), submission, sandboxed=True)


def keep(course: Course, made: Result) -> None:
    """Record in a recorder of its own, as a run does."""
    attempt, notebook = made
    with Recorder(course) as recorder:
        recorder.keep(attempt, graded_page(notebook, attempt))


def test_gradebook_log_and_folder_agree(course: Course, grades: ReadGrades) -> None:
    """The same attempt is in all three."""
    made = result(course, **RIGHT)
    keep(course, made)
    assert grades("alice")["double-test"] == (8.0, None, False)
    assert autograded.stored_attempt(course, "alice", LESSON) == made[0]
    assert list(AttemptLog(course.reports)) == [made[0]]


def test_a_grader_error_is_logged(course: Course) -> None:
    """Its traceback is in the attempt and in the log for the instructor, but not in the report."""
    attempt, notebook = result(course, double="# fault", halve="# right")
    keep(course, (attempt, notebook))
    assert "KeyError: 'double broke'" in attempt.detail
    assert "alice, 03_tiny\n[double]\nKeyError: 'double broke'" in (course.reports / ERROR_LOG).read_text()
    assert "KeyError" not in attempt.report.model_dump_json()


@pytest.mark.parametrize("place", ["log", "folder"])
def test_killed_before_the_end_and_done_again(
    course: Course, book: Gradebook, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """A score given by hand to the earlier answer is gone, wherever the first try was cut short."""
    first, second = result(course, why="First."), result(course, why="Second.")
    keep(course, first)
    book.find_grade("why", LESSON, LESSON, "alice").manual_score = 2.0
    book.db.commit()
    with monkeypatch.context() as patched:
        broken = "append" if place == "log" else "write"
        owner = AttemptLog if place == "log" else autograded
        patched.setattr(owner, broken, _killed)
        with pytest.raises(KeyboardInterrupt):
            keep(course, second)
    keep(course, second)
    book.db.expire_all()
    grade = book.find_grade("why", LESSON, LESSON, "alice")
    assert (grade.manual_score, grade.needs_manual_grade) == (None, True)
    assert autograded.stored_attempt(course, "alice", LESSON) == second[0]


def _killed(*_: object) -> None:
    raise KeyboardInterrupt


def test_late_work_is_penalised_as_the_course_says(course: Course, book: Gradebook) -> None:
    """The rule in nbgrader_config.py applies: here, late work gets no points."""
    with (course.root / "nbgrader_config.py").open("a") as config:
        config.write('\nc.LateSubmissionPlugin.penalty_method = "zero"\n')
    book.find_assignment(LESSON).duedate = dt.datetime(2026, 1, 1)
    book.db.commit()
    made = result(course, **RIGHT)
    hand_in(course, "alice").with_name("timestamp.txt").write_text("2026-01-02 00:00:00 UTC")
    keep(course, made)
    notebook = book.find_submission_notebook(LESSON, LESSON, "alice")
    assert (notebook.score, notebook.late_submission_penalty) == (18.0, 18.0)
    hand_in(course, "alice").with_name("timestamp.txt").write_text("2025-12-31 00:00:00 UTC")
    keep(course, made)
    book.db.expire_all()
    assert notebook.late_submission_penalty is None
