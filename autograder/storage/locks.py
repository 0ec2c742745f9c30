"""Locks of a course, files in its reports: for commands that work alone, and for writing down one attempt.

A lock ends with its process, however that ends.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from filelock import FileLock, Timeout

from autograder.model.course import Course
from autograder.model.errors import CourseError

FOREVER, AT_ONCE = -1, 0  # how long to wait, in seconds as FileLock counts them


@contextmanager
def only_one(course: Course, *commands: str) -> Iterator[None]:
    """Hold the lock that these commands share, so that only one of them works on the course at a time.

    Raises CourseError if another one holds it.
    """
    try:
        held = _lock(course, commands[0]).acquire(timeout=AT_ONCE)
    except Timeout:
        names = " or ".join(f"'autograder {name}'" for name in commands)
        raise CourseError(
            f"another {names} is at work on {course.root}; wait until it has ended, or stop that one first"
        ) from None
    with held:
        yield


@contextmanager
def recording(course: Course) -> Iterator[None]:
    """Wait for the lock under which an attempt is recorded: a watch and a class run may do so at once."""
    with _lock(course, "recording").acquire(timeout=FOREVER):
        yield


def _lock(course: Course, name: str) -> FileLock:
    """Return a lock on a file that whoever shares the course may open, unlike those that FileLock makes."""
    path = course.reports / f"{name}.lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        path.touch()
    return FileLock(path)
