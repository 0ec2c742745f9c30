"""Grading one submission ends in an attempt, whatever it is and whatever happens."""

import hashlib

import pytest
from tiny_course import LESSON, RIGHT, FakeGraded, FakeGrader, hand_in

from autograder.grading.grade_submission import grade_submission
from autograder.model.course import Course
from autograder.model.errors import SandboxMissingError
from autograder.model.report import Outcome, State
from autograder.submissions.submission import Submission


def submission(course: Course, student: str = "alice") -> Submission:
    """Name a student's submission."""
    return Submission(course, student, LESSON, "v")


def outcomes(course: Course, student: str = "alice") -> list[Outcome]:
    """Grade a submission and return how its exercises ended."""
    attempt, _ = grade_submission(FakeGrader(course), submission(course, student), sandboxed=True)
    return [done.outcome for done in attempt.report.exercises]


def test_an_attempt_says_what_was_graded(course: Course) -> None:
    """It holds the digest of the file, the report, and a digest of each answer."""
    path = hand_in(course, "alice", **RIGHT)
    attempt, notebook = grade_submission(FakeGrader(course), submission(course), sandboxed=True)
    assert attempt.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert (attempt.report.score, attempt.detail) == (18.0, "")
    right = hashlib.sha256(b"# right").hexdigest()
    assert attempt.answers == {
        "double": right,
        "halve": right,
        "why": hashlib.sha256(b"Because.").hexdigest(),
    }
    assert "# right" in [cell.source for cell in notebook.cells]


@pytest.mark.parametrize("content", ["", "{", "not json", "\x00\xff"])
def test_a_broken_file_is_missing_throughout(course: Course, content: str) -> None:
    """A file that is not a notebook is unreadable, with the reason, and nothing was repaired."""
    hand_in(course, "alice").write_text(content, encoding="utf-8")
    attempt, _ = grade_submission(FakeGrader(course), submission(course), sandboxed=True)
    assert {done.outcome for done in attempt.report.exercises} == {Outcome.MISSING}
    assert attempt.report.state is State.UNREADABLE
    assert attempt.report.reason == f"{LESSON}.ipynb is not a notebook"
    assert attempt.report.repairs == []


def test_a_link_to_another_students_work_is_not_followed(course: Course) -> None:
    """A link earns nothing, and its digest is not that of the other's file."""
    theirs = hand_in(course, "bob", **RIGHT)
    mine = hand_in(course, "alice")
    mine.unlink()
    mine.symlink_to(theirs)
    attempt, notebook = grade_submission(FakeGrader(course), submission(course), sandboxed=True)
    assert (attempt.report.score, attempt.report.state) == (0, State.WRONG_FILE)
    assert "# right" not in [cell.source for cell in notebook.cells]
    assert attempt.sha256 != hashlib.sha256(theirs.read_bytes()).hexdigest()


def test_a_grader_that_raises_leaves_every_score_open(course: Course) -> None:
    """The points are those of the lesson, and the traceback is kept for the instructor alone."""
    hand_in(course, "alice", double="# boom")
    attempt, _ = grade_submission(FakeGrader(course), submission(course), sandboxed=True)
    assert [
        (done.id, done.points, done.score, done.outcome) for done in attempt.report.exercises
    ] == [
        ("double", 8.0, None, Outcome.GRADER_ERROR),
        ("halve", 10.0, None, Outcome.GRADER_ERROR),
        ("why", 2.0, None, Outcome.GRADER_ERROR),
    ]
    assert "RuntimeError: the grader fell over" in attempt.detail
    assert "fell over" not in attempt.report.model_dump_json()
    assert attempt.faulty


def test_the_traceback_of_one_exercise_is_kept(course: Course) -> None:
    """The attempt names the exercise; its other exercises are graded."""
    hand_in(course, "alice", double="# fault", halve="# right")
    attempt, _ = grade_submission(FakeGrader(course), submission(course), sandboxed=True)
    assert attempt.detail == "[double]\nKeyError: 'double broke'"
    assert attempt.report.score == 10


@pytest.mark.parametrize("score", [8.5, -1.0, float("inf"), float("nan"), None])
def test_a_score_out_of_range_is_a_grader_error(
    course: Course, score: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Above the points, below zero, no number, or absent; nbgrader would read some as full points."""
    hand_in(course, "alice", **RIGHT)

    def too_much(self: FakeGrader, lesson: str, *_: object) -> FakeGraded:
        graded = self.grade_broken(lesson)
        first = graded.report.exercises[0].model_copy(update={"score": score})
        exercises = [first, *graded.report.exercises[1:]]
        return FakeGraded(
            graded.report.model_copy(update={"exercises": exercises}), graded.notebook
        )

    monkeypatch.setattr(FakeGrader, "grade", too_much)
    attempt, _ = grade_submission(FakeGrader(course), submission(course), sandboxed=True)
    assert {done.outcome for done in attempt.report.exercises} == {Outcome.GRADER_ERROR}
    assert f"impossible score: {score} of 8.0 points" in attempt.detail


def test_an_error_of_the_course_is_raised(
    course: Course, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A missing sandbox concerns every submission, so the run stops."""
    hand_in(course, "alice")

    def refuse(*_: object) -> FakeGraded:
        raise SandboxMissingError("no sandbox")

    monkeypatch.setattr(FakeGrader, "grade", refuse)
    with pytest.raises(SandboxMissingError):
        grade_submission(FakeGrader(course), submission(course), sandboxed=True)
