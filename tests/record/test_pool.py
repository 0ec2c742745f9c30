"""Submissions marked in processes: a process that dies takes no other submission's mark along."""

import os
import time
from pathlib import Path
from typing import Any

import pytest

from autograder.course import Course
from autograder.errors import SandboxMissingError
from autograder.record.handed import Handed
from autograder.record.marking import Result
from autograder.record.pool import Pool

from .tiny_course import LESSON, RIGHT, FakeMarked, FakeMarker, hand_in, make_fake

pytestmark = pytest.mark.slow


class Careful(FakeMarker):
    """Ends its process at `die once` the first time only, and is slow at `slow`."""

    def mark(self, lesson: str, path: Path) -> FakeMarked:
        """Die, dawdle, or mark."""
        text, seen = path.read_text(), path.with_name("seen")
        if "once" in text and not seen.exists():
            seen.touch()
            os._exit(1)
        if "slow" in text:
            time.sleep(30)
        return super().mark(lesson, path)

    def __exit__(self, *_: object) -> None:
        """Leave a sign of having been closed."""
        (self.course.root / f"closed-{os.getpid()}").touch()


def make_careful(course: Course, _: bool) -> Any:
    """Make a Careful marker; workers import this by name."""
    return Careful(course)


def refuse(*_: object) -> Any:
    """Stand in for a marker that finds no sandbox."""
    raise SandboxMissingError("no bubblewrap here")


def mark_all(pool: Pool, course: Course, *students: str) -> dict[str, Result]:
    """Mark these students' submissions; return the results by student."""
    handed = [Handed(course, student, LESSON, "v") for student in students]
    results = list(pool.mark_all(handed))
    assert len(results) == len(students)
    return {result[0].student: result for result in results}


def test_a_death_costs_only_the_one_that_causes_it(course: Course) -> None:
    """One kills its worker each time, one only once: the others have their marks."""
    for student in ("a", "b", "c", "d", "e"):
        hand_in(course, student, **RIGHT)
    hand_in(course, "killer", double="# right but die")
    hand_in(course, "unlucky", double="# right once")
    pool = Pool(2, sandboxed=True, make=make_careful)
    done = mark_all(pool, course, "a", "killer", "b", "unlucky", "c", "d", "e")
    assert {student: result[0].report.score for student, result in done.items()} == {
        "a": 18.0,
        "b": 18.0,
        "c": 18.0,
        "d": 18.0,
        "e": 18.0,
        "killer": 0.0,
        "unlucky": 8.0,
    }
    assert [student for student, result in done.items() if result[0].faulty] == ["killer"]
    assert "died twice" in done["killer"][0].detail
    assert list(course.root.glob("closed-*")), "no worker closed its marker"


def test_a_submission_that_never_ends_is_left_to_a_person(course: Course) -> None:
    """Past the limit the worker ends itself, whatever the marker is waiting for."""
    hand_in(course, "slow", double="# slow")
    started = time.monotonic()
    done = mark_all(Pool(1, sandboxed=True, make=make_careful, limit=1), course, "slow")
    assert done["slow"][0].faulty
    assert time.monotonic() - started < 25


def test_no_sandbox_stops_the_run(course: Course) -> None:
    """The error reaches the caller as it is, and no submission is marked."""
    hand_in(course, "alice", **RIGHT)
    with pytest.raises(SandboxMissingError, match="no bubblewrap here"):
        mark_all(Pool(1, sandboxed=True, make=refuse), course, "alice")


def test_nothing_to_mark_starts_nothing() -> None:
    """An empty run yields nothing."""
    assert list(Pool(2, sandboxed=True, make=make_fake).mark_all([])) == []
