"""A full disk or a locked gradebook gives one plain line, and the next run continues."""

import errno
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Timer

import pytest
from rich.console import Console
from tiny_course import LESSON, RIGHT, hand_in, make_fake
from tiny_fixtures import ReadGrades

from autograder.grading.loop import grade_lesson
from autograder.grading.pool import Pool
from autograder.model.attempt import Attempt
from autograder.model.course import Course
from autograder.model.errors import CourseError
from autograder.storage import attempts, gradebook, io_errors, recorder
from autograder.storage.attempts import AttemptLog

Run = Callable[[], list[Attempt]]
pytestmark = pytest.mark.usefixtures("same_grader")


@pytest.fixture
def run(course: Course) -> Iterator[Run]:
    """Hand in for three students; give a function that runs the class."""
    for student in ("alice", "bob", "carl"):
        hand_in(course, student, **RIGHT)
    with Pool(1, sandboxed=True, make=make_fake) as pool:
        yield lambda: grade_lesson(course, LESSON, pool, console=Console(quiet=True))


def _full_the_second_time(insert: Callable[..., None]) -> Callable[..., None]:
    """Return an insert that finds the disk full at its second row."""
    rows = iter(range(9))

    def inserting(database: sqlite3.Connection, attempt: Attempt) -> None:
        if next(rows) == 1:
            raise sqlite3.OperationalError("database or disk is full")
        insert(database, attempt)

    return inserting


def _full(*_: object, **__: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "some/file")


def everybody_has_scores(course: Course, grades: ReadGrades) -> bool:
    """Return whether gradebook, log and folders hold the right scores of all three."""
    latest = AttemptLog(course.reports).latest(LESSON)
    return all(
        grades(student)["double-test"] == (8.0, None, False)
        and recorder.stored_attempt(course, student, LESSON) == latest[student]
        for student in ("alice", "bob", "carl")
    )


@pytest.mark.parametrize("place", ["log", "folder"])
def test_after_a_full_disk_the_next_run_continues(
    course: Course, run: Run, grades: ReadGrades, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """An attempt that got no further than the gradebook, or half a folder, does not count."""
    with monkeypatch.context() as patched:
        if place == "log":
            patched.setattr(attempts, "_insert", _full_the_second_time(attempts._insert))
        else:
            patched.setattr(recorder, "_fill", _full)
        with pytest.raises(CourseError, match=r"(No space left on device|database or disk is full); fix this and run"):
            run()
    before = len(list(AttemptLog(course.reports)))
    assert before == 1
    run()
    assert everybody_has_scores(course, grades)
    assert not list(course.autograded.glob("*/.*"))


def test_a_gradebook_that_cannot_be_written(
    course: Course, run: Run, grades: ReadGrades, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite reports it in its own way, and no half of a transaction stays."""
    run()
    hand_in(course, "bob", double="# half")
    with monkeypatch.context() as patched:
        full = f"sqlite:///file:{course.gradebook}?uri=true&mode=ro"
        patched.setattr(gradebook, "database_url", lambda _: full)
        with pytest.raises(CourseError, match=r"gradebook.db cannot be used: .*readonly"):
            run()
    assert grades("bob")["double-test"] == (8.0, None, False)
    run()
    assert grades("bob")["double-test"] == (4.0, None, False)


@contextmanager
def locked(gradebook: Path) -> Iterator[sqlite3.Connection]:
    """Hold the gradebook as another program would, until the block ends or a rollback."""
    with closing(sqlite3.connect(gradebook, check_same_thread=False)) as other:
        other.execute("BEGIN EXCLUSIVE")
        yield other
        other.rollback()


def test_a_gradebook_that_is_locked_for_a_while_is_waited_for(
    course: Course, run: Run, grades: ReadGrades
) -> None:
    """The formgrader may save a score during a run."""
    with locked(course.gradebook) as other:
        release = Timer(1.0, other.rollback)
        release.start()
        run()
        release.join()
    assert everybody_has_scores(course, grades)


def test_a_gradebook_that_stays_locked_stops_the_run(
    course: Course, run: Run, grades: ReadGrades, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With one line, before anything is graded; the next run continues."""
    with monkeypatch.context() as patched, locked(course.gradebook):
        patched.setattr(io_errors, "PATIENCE", 0.2)
        with pytest.raises(CourseError, match=r"gradebook.db cannot be used: database is locked") as told:
            run()
    assert "\n" not in str(told.value)
    assert list(AttemptLog(course.reports)) == []
    run()
    assert everybody_has_scores(course, grades)


def test_a_bug_is_raised_as_it_is(
    course: Course, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bug of ours is not called a full disk."""

    def broken(*_: object) -> None:
        raise FileNotFoundError("ours")

    monkeypatch.setattr(recorder, "_fill", broken)
    with pytest.raises(FileNotFoundError, match="ours"):
        run()
