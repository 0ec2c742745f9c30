"""An attempt gets to every place that keeps it, and a kill in between spoils nothing."""

import datetime as dt

import pytest
from nbgrader.api import Gradebook

from autograder.course import Course
from autograder.record import autograded
from autograder.record.attempts import Attempt, AttemptLog
from autograder.record.handed import Handed
from autograder.record.marking import Result, mark
from autograder.record.recording import Recorder

from .conftest import ReadGrades
from .tiny_course import LESSON, RIGHT, FakeMarker, hand_in


def result(course: Course, **answers: str) -> Result:
    """Hand in and mark."""
    hand_in(course, "alice", **answers)
    return mark(FakeMarker(course), Handed(course, "alice", LESSON, "v"), sandboxed=True)


def keep(course: Course, made: Result, previous: Attempt | None = None) -> None:
    """Record in a recorder of its own, as a run does."""
    with Recorder(course) as recorder:
        recorder.keep(*made, previous)


def test_gradebook_log_and_folder_agree(course: Course, grades: ReadGrades) -> None:
    """The same attempt is in all three."""
    made = result(course, **RIGHT)
    keep(course, made)
    assert grades("alice")["double-test"] == (8.0, None, False)
    assert autograded.stored_attempt(course, "alice", LESSON) == made[0]
    with Recorder(course) as recorder:
        assert list(recorder.log) == [made[0]]


@pytest.mark.parametrize("place", ["log", "folder"])
def test_killed_before_the_end_and_done_again(
    course: Course, book: Gradebook, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """A mark given by hand to the earlier answer is gone, whenever the first try was cut short."""
    first, second = result(course, why="First."), result(course, why="Second.")
    keep(course, first)
    book.find_grade("why", LESSON, LESSON, "alice").manual_score = 2.0
    book.db.commit()
    with monkeypatch.context() as patched:
        broken = "append" if place == "log" else "write"
        owner = AttemptLog if place == "log" else autograded
        patched.setattr(owner, broken, _killed)
        with pytest.raises(KeyboardInterrupt):
            keep(course, second, first[0])
    with Recorder(course) as recorder:
        recorder.keep(*second, recorder.log.last("alice", LESSON))
    book.db.expire_all()
    grade = book.find_grade("why", LESSON, LESSON, "alice")
    assert (grade.manual_score, grade.needs_manual_grade) == (None, True)
    assert autograded.stored_attempt(course, "alice", LESSON) == second[0]


def _killed(*_: object) -> None:
    raise KeyboardInterrupt


def test_late_work_is_penalised_as_the_course_says(course: Course, book: Gradebook) -> None:
    """The rule set in nbgrader_config.py applies: here, late work gets nothing."""
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
    keep(course, made, made[0])
    book.db.expire_all()
    assert notebook.late_submission_penalty is None
