"""A full disk or a locked gradebook is told in one line, and the next run goes on."""

import errno
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Timer

import pytest

from autograder.course import Course
from autograder.errors import CourseError
from autograder.record import attempts, autograded, stock
from autograder.record.attempts import Attempt, AttemptLog
from autograder.record.class_run import grade

from .conftest import ReadGrades
from .tiny_course import LESSON, RIGHT, hand_in, make_fake

Run = Callable[[], list[Attempt]]
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("same_grader")]


@pytest.fixture
def run(course: Course) -> Run:
    """Hand in for three students; give a function that runs the class."""
    for student in ("alice", "bob", "carl"):
        hand_in(course, student, **RIGHT)
    return lambda: grade(course, LESSON, workers=1, progress=lambda _: None, make=make_fake)


def _full_in_the_middle(write: Callable[..., None]) -> Callable[..., None]:
    """Return a write that finds the disk full at its second line, half of which is written."""
    lines = iter(range(9))

    def writing(file: object, line: bytes) -> None:
        if next(lines) != 1:
            return write(file, line)
        write(file, line[: len(line) // 2])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    return writing


def _full(*_: object, **__: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "some/file")


def everybody_has_marks(course: Course, grades: ReadGrades) -> bool:
    """Whether gradebook, log and folders hold the right marks of all three."""
    latest = AttemptLog(course.reports).latest(LESSON)
    return all(
        grades(student)["double-test"] == (8.0, None, False)
        and autograded.stored_attempt(course, student, LESSON) == latest[student]
        for student in ("alice", "bob", "carl")
    )


@pytest.mark.parametrize("place", ["log", "folder"])
def test_a_full_disk_is_told_and_the_next_run_goes_on(
    course: Course, run: Run, grades: ReadGrades, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """Half a line in the log, half a folder: neither is taken for a mark."""
    with monkeypatch.context() as patched:
        if place == "log":
            whole = attempts._write_whole
            patched.setattr(attempts, "_write_whole", _full_in_the_middle(whole))
        else:
            patched.setattr(autograded, "_fill", _full)
        with pytest.raises(CourseError, match="No space left on device; mend that and run"):
            run()
    before = len(list(AttemptLog(course.reports)))
    assert before == 1
    run()
    assert everybody_has_marks(course, grades)
    assert not list(course.autograded.glob("*/.*"))


def test_a_gradebook_that_cannot_be_written(
    course: Course, run: Run, grades: ReadGrades, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite says so in its own way; no half of a transaction stays."""
    run()
    hand_in(course, "bob", double="# half")
    with monkeypatch.context() as patched:
        full = f"sqlite:///file:{course.gradebook}?uri=true&mode=ro"
        patched.setattr(stock, "database", lambda _: full)
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
    """The formgrader saving a mark stops nothing."""
    with locked(course.gradebook) as other:
        release = Timer(1.0, other.rollback)
        release.start()
        run()
        release.join()
    assert everybody_has_marks(course, grades)


def test_a_gradebook_that_stays_locked_is_told(
    course: Course, run: Run, grades: ReadGrades, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one line, before anything is marked; the next run goes on."""
    with monkeypatch.context() as patched, locked(course.gradebook):
        patched.setattr(stock, "PATIENCE", 0.2)
        with pytest.raises(CourseError, match=r"gradebook.db cannot be used: database is locked") as told:
            run()
    assert "\n" not in str(told.value)
    assert list(AttemptLog(course.reports)) == []
    run()
    assert everybody_has_marks(course, grades)


def test_what_is_no_fault_of_the_machine_is_raised_as_it_is(
    course: Course, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fault of ours is not called a full disk."""

    def ours(*_: object) -> None:
        raise FileNotFoundError("ours")

    monkeypatch.setattr(autograded, "_fill", ours)
    with pytest.raises(FileNotFoundError, match="ours"):
        run()
