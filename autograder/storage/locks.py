"""Two file locks: one that allows a single class run, one held while an attempt is recorded.

Both are files in the course's reports. The system releases them when the process ends.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from filelock import FileLock, Timeout

from autograder.model.course import Course
from autograder.model.errors import CourseError

FOREVER, AT_ONCE = -1, 0  # how long to wait, in seconds as FileLock counts them


@contextmanager
def only_one(course: Course, *commands: str) -> Iterator[None]:
    """Hold the lock that these commands share, so that only one of them runs on the course at a time.

    Raises CourseError if one of them is running.
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
    """Hold the lock under which an attempt is recorded, because a watch may run during a class run."""
    with _lock(course, "recording").acquire(timeout=FOREVER):
        yield


def _lock(course: Course, name: str) -> FileLock:
    """Return the lock of this name. The umask sets the rights of its file, so that a group can share it."""
    path = course.reports / f"{name}.lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    return FileLock(path)
