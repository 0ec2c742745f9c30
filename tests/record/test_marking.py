"""One submission through the marker ends in an attempt, whatever it is and whatever happens."""

import hashlib
from pathlib import Path

import pytest

from autograder.course import Course
from autograder.errors import SandboxMissingError
from autograder.record.handed import Handed
from autograder.record.marking import mark
from autograder.results import Outcome

from .tiny_course import LESSON, RIGHT, FakeMarked, FakeMarker, hand_in


def handed(course: Course, student: str = "alice") -> Handed:
    """Name a submission."""
    return Handed(course, student, LESSON, "v")


def outcomes(course: Course, student: str = "alice") -> list[Outcome]:
    """Mark a submission and return how its exercises ended."""
    attempt, _ = mark(FakeMarker(course), handed(course, student), sandboxed=True)
    return [done.outcome for done in attempt.report.exercises]


def test_an_attempt_says_what_was_marked(course: Course) -> None:
    """Digest of the file, seed, and a digest of each answer are kept."""
    path = hand_in(course, "alice", **RIGHT)
    attempt, notebook = mark(FakeMarker(course), handed(course), sandboxed=True)
    assert attempt.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert (attempt.seed, attempt.report.score, attempt.detail) == (7, 18.0, "")
    right = hashlib.sha256(b"# right").hexdigest()
    assert attempt.answers == {
        "double": right,
        "halve": right,
        "why": hashlib.sha256(b"Because.").hexdigest(),
    }
    assert "# right" in [cell.source for cell in notebook.cells]


@pytest.mark.parametrize("content", ["", "{", "not json", "\x00\xff"])
def test_a_broken_file_is_missing_throughout(course: Course, content: str) -> None:
    """What is no notebook gives `missing`, with the reason."""
    hand_in(course, "alice").write_text(content, encoding="utf-8")
    attempt, _ = mark(FakeMarker(course), handed(course), sandboxed=True)
    assert {done.outcome for done in attempt.report.exercises} == {Outcome.MISSING}
    assert attempt.report.repairs == [f"{LESSON}.ipynb is not a notebook"]


def test_a_link_to_another_students_work_is_not_followed(course: Course) -> None:
    """A link earns nothing, and its digest is not that of the other's file."""
    theirs = hand_in(course, "bob", **RIGHT)
    mine = hand_in(course, "alice")
    mine.unlink()
    mine.symlink_to(theirs)
    attempt, notebook = mark(FakeMarker(course), handed(course), sandboxed=True)
    assert attempt.report.score == 0
    assert "# right" not in [cell.source for cell in notebook.cells]
    assert attempt.sha256 == hashlib.sha256(b"").hexdigest()


def test_a_marker_that_raises_leaves_every_exercise_to_a_person(course: Course) -> None:
    """Points are those of the lesson, no score is given, the traceback is kept."""
    hand_in(course, "alice", double="# boom")
    attempt, _ = mark(FakeMarker(course), handed(course), sandboxed=True)
    assert [
        (done.id, done.points, done.score, done.outcome) for done in attempt.report.exercises
    ] == [
        ("double", 8.0, None, Outcome.GRADER_FAULT),
        ("halve", 10.0, None, Outcome.GRADER_FAULT),
        ("why", 2.0, None, Outcome.GRADER_FAULT),
    ]
    assert "the marker fell over" in attempt.detail
    assert attempt.faulty


def test_a_score_that_is_no_number_is_our_fault(course: Course) -> None:
    """It would be full marks to nbgrader."""
    hand_in(course, "alice", double="# nan", halve="# right")
    assert outcomes(course)[:2] == [Outcome.GRADER_FAULT, Outcome.PASSED]


@pytest.mark.parametrize("score", [8.5, -1.0, float("inf"), None])
def test_a_score_out_of_range_is_our_fault(
    course: Course, score: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So is a score beyond the points, below nought, or absent without a reason to wait."""
    hand_in(course, "alice", **RIGHT)

    def too_much(self: FakeMarker, lesson: str, _: Path) -> FakeMarked:
        marked = self.mark_broken(lesson, "")
        first = marked.report.exercises[0].model_copy(update={"score": score})
        exercises = [first, *marked.report.exercises[1:]]
        return FakeMarked(
            marked.report.model_copy(update={"exercises": exercises}), marked.notebook
        )

    monkeypatch.setattr(FakeMarker, "mark", too_much)
    assert outcomes(course) == [Outcome.GRADER_FAULT, Outcome.MISSING, Outcome.MISSING]


def test_what_concerns_the_course_is_raised(
    course: Course, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No sandbox is no student's fault and no submission's: the run stops."""
    hand_in(course, "alice")

    def refuse(*_: object) -> FakeMarked:
        raise SandboxMissingError("no sandbox")

    monkeypatch.setattr(FakeMarker, "mark", refuse)
    with pytest.raises(SandboxMissingError):
        mark(FakeMarker(course), handed(course), sandboxed=True)
