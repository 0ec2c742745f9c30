"""A class run marks everything once, loses nothing, and goes on where it stopped."""

import json
import shutil
from collections.abc import Callable

import pytest

from autograder.course import Course
from autograder.errors import CourseError
from autograder.record import class_run, feedback
from autograder.record.attempts import Attempt, AttemptLog
from autograder.record.class_run import grade
from autograder.results import Outcome

from .conftest import ReadGrades
from .tiny_course import LESSON, RIGHT, hand_in, make_fake

Run = Callable[..., tuple[list[Attempt], list[str]]]
pytestmark = pytest.mark.usefixtures("same_grader")


@pytest.fixture
def run(course: Course) -> Run:
    """Give a function that runs the class and returns attempts and what was said."""

    def run_it(**how: bool) -> tuple[list[Attempt], list[str]]:
        said: list[str] = []
        return grade(course, LESSON, workers=1, progress=said.append, make=make_fake, **how), said

    return run_it


@pytest.mark.slow
def test_every_submission_ends_in_marks_and_a_page(
    course: Course, run: Run, grades: ReadGrades
) -> None:
    """Right, half, broken, empty-handed and one the grader fails on: all are recorded."""
    hand_in(course, "alice", **RIGHT)
    hand_in(course, "bob", double="# half")
    hand_in(course, "carl").write_text("{")
    (course.submitted / "dora" / LESSON).mkdir(parents=True)
    hand_in(course, "emil", halve="# boom")
    attempts, said = run()
    assert [(a.student, a.report.score) for a in attempts] == [
        ("alice", 18.0),
        ("bob", 4.0),
        ("carl", 0.0),
        ("dora", 0.0),
        ("emil", 0.0),
    ]
    nothing = {
        "double-test": (0.0, None, False),
        "halve-test": (0.0, None, False),
        "why": (0.0, None, False),
    }
    assert grades("alice") == {
        "double-test": (8.0, None, False),
        "halve-test": (10.0, None, False),
        "why": (None, None, True),
    }
    assert grades("carl") == nothing
    assert grades("dora") == nothing
    assert grades("emil") == dict.fromkeys(nothing, (None, None, True))
    assert all(feedback.page_path(course, a.student, LESSON).is_file() for a in attempts)
    assert any("alice: 18/20, 1 to mark by hand" in line for line in said)


@pytest.mark.slow
def test_a_second_run_marks_only_what_changed(course: Course, run: Run, grades: ReadGrades) -> None:
    """Unchanged submissions are passed over, unless forced; faults are tried again."""
    hand_in(course, "alice", **RIGHT)
    hand_in(course, "bob", double="# fault")
    first, _ = run()
    hand_in(course, "carl", **RIGHT)
    second, said = run()
    assert said[0] == f"{LESSON}: 2 submissions to mark, 1 marked before"
    assert second[0] == first[0]
    assert second[1].marked_at > first[1].marked_at
    hand_in(course, "alice", double="# half")
    third, said = run()
    assert third[0].report.score == 4.0
    assert grades("alice")["halve-test"] == (0.0, None, False)
    assert "2 marked before" not in said[0]
    assert run(force=True)[1][0] == f"{LESSON}: 3 submissions to mark"


@pytest.mark.slow
def test_an_interrupted_run_goes_on(
    course: Course, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was recorded to the end stays, the rest is marked, and no page is lacking."""
    for student in ("alice", "bob", "carl"):
        hand_in(course, student, **RIGHT)
    with monkeypatch.context() as patched:
        patched.setattr(class_run, "_line", _interrupt)
        with pytest.raises(KeyboardInterrupt):
            run()
    assert [a.student for a in AttemptLog(course.reports)] == ["alice"]
    shutil.rmtree(course.feedback, ignore_errors=True)
    attempts, said = run()
    assert said[0] == f"{LESSON}: 2 submissions to mark, 1 marked before"
    assert sorted(a.student for a in AttemptLog(course.reports)) == ["alice", "bob", "carl"]
    assert all(feedback.page_path(course, a.student, LESSON).is_file() for a in attempts)


def _interrupt(_: object) -> str:
    raise KeyboardInterrupt


@pytest.mark.slow
def test_a_lost_folder_is_written_again(course: Course, run: Run) -> None:
    """A submission counts as done only while its marked notebook is there."""
    hand_in(course, "alice", **RIGHT)
    run()
    shutil.rmtree(course.autograded)
    assert run()[1][0] == f"{LESSON}: 1 submissions to mark"
    assert feedback.marked_path(course, "alice", LESSON).is_file()


@pytest.mark.slow
def test_marks_of_submissions_that_vanished_stay(
    course: Course, run: Run, grades: ReadGrades
) -> None:
    """A student whose folder is gone is not in the run, and keeps the marks."""
    hand_in(course, "alice", **RIGHT)
    hand_in(course, "bob")
    run()
    shutil.rmtree(course.submitted / "alice")
    attempts, _ = run()
    assert [a.student for a in attempts] == ["bob"]
    assert grades("alice")["double-test"][0] == 8.0


def test_nothing_handed_in_is_told(course: Course, run: Run) -> None:
    """The message says where submissions belong; another lesson's do not count."""
    (course.submitted / "alice" / "04_other").mkdir(parents=True)
    with pytest.raises(CourseError, match=f"submitted/<student>/{LESSON}/{LESSON}.ipynb"):
        run()


def test_a_lesson_that_was_never_released_is_told(course: Course, run: Run) -> None:
    """Without a release there is nothing to lay answers over."""
    hand_in(course, "alice")
    course.release_notebook(LESSON).unlink()
    with pytest.raises(CourseError, match="autograder build"):
        run()


def test_a_page_that_fails_costs_no_mark(
    course: Course, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run says so and ends well."""
    hand_in(course, "alice", **RIGHT)
    monkeypatch.setattr(feedback, "generate", lambda *_, **__: {"alice": "TemplateError: x"})
    attempts, said = run()
    assert attempts[0].report.score == 18.0
    assert said[-1] == "  alice: no feedback page (TemplateError: x); the marks stand"


@pytest.mark.slow
def test_a_mark_made_without_a_sandbox_gives_way(course: Course, run: Run) -> None:
    """Such an attempt says so, and is marked again once there is one; not the other way round."""
    hand_in(course, "alice", **RIGHT)
    assert run(sandboxed=False)[0][0].sandboxed is False
    assert run(sandboxed=False)[1][0].endswith("1 marked before")
    assert run(sandboxed=True)[0][0].sandboxed is True
    assert run(sandboxed=False)[1][0].endswith("1 marked before")


def test_the_log_is_one_document_a_line(course: Course, run: Run) -> None:
    """Other programs can read it."""
    hand_in(course, "alice", double="# half")
    run()
    lines = (course.reports / "attempts.jsonl").read_text(encoding="utf-8").splitlines()
    document = json.loads(lines[0])
    assert document["report"]["exercises"][0]["outcome"] == Outcome.FAILED
    assert document["report"]["exercises"][0]["score"] == 4.0
