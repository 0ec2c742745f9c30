"""What a machine may have against a run, in one line: a full disk, a locked or unreadable gradebook.

Nothing is lost by it. The run can be started again, and goes on where it stopped.
"""

import errno
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager

from sqlalchemy.exc import OperationalError

from autograder.course import Course
from autograder.errors import CourseError
from autograder.record import stock

OF_THE_MACHINE = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EMFILE, errno.ENFILE}
GO_ON = "mend that and run the command again: what was recorded stays, the rest is marked then"


@contextmanager
def told_plainly(course: Course) -> Iterator[None]:
    """Turn what is wrong with the machine into a CourseError; faults of ours stay what they are."""
    try:
        yield
    except OperationalError as problem:
        raise CourseError(
            f"{course.gradebook} cannot be used: {problem.orig}; {GO_ON}"
        ) from problem
    except OSError as problem:
        if problem.errno not in OF_THE_MACHINE:
            raise
        where = problem.filename or course.root
        raise CourseError(f"cannot write {where}: {problem.strerror}; {GO_ON}") from problem


def insist_on_a_free_gradebook(course: Course) -> None:
    """Wait until nobody else is writing to the gradebook; sqlite3.OperationalError if that never is."""
    if course.gradebook.is_file():
        with closing(sqlite3.connect(course.gradebook, timeout=stock.PATIENCE)) as book:
            book.execute("BEGIN IMMEDIATE")
            book.rollback()
