"""Errors of the machine as one plain sentence: a full disk, a locked or unreadable database.

Nothing is lost by such an error: the run can be started again and continues where it stopped.
"""

import errno
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from sqlalchemy.exc import DatabaseError

from autograder.model.course import Course
from autograder.model.errors import CourseError

PATIENCE = 30  # seconds to wait for a locked database; the formgrader locks it for far less
ERRNOS = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EMFILE, errno.ENFILE}
HINT = "fix this and run the command again: it grades only what has not been recorded yet"


@contextmanager
def plain_database_errors(path: Path) -> Iterator[None]:
    """Turn a locked, full or damaged SQLite file into a CourseError; a bug stays what it is."""
    try:
        yield
    except (DatabaseError, sqlite3.DatabaseError) as error:
        reason = getattr(error, "orig", error)
        if type(reason) not in (sqlite3.OperationalError, sqlite3.DatabaseError):
            raise
        raise CourseError(f"{path} cannot be used: {reason}; {HINT}") from error


@contextmanager
def plain_io_errors(course: Course) -> Iterator[None]:
    """Turn errors of the disk or the gradebook into a CourseError; a bug stays what it is."""
    with plain_database_errors(course.gradebook):
        try:
            yield
        except OSError as error:
            if error.errno not in ERRNOS:
                raise
            where = error.filename or course.root
            raise CourseError(f"cannot write {where}: {error.strerror}; {HINT}") from error


def wait_for_gradebook(course: Course) -> None:
    """Wait until no other program writes to the gradebook.

    Raises sqlite3.OperationalError if it stays locked for longer than PATIENCE.
    """
    if course.gradebook.is_file():
        with closing(sqlite3.connect(course.gradebook, timeout=PATIENCE)) as book:
            book.execute("BEGIN IMMEDIATE")
            book.rollback()
