"""Errors of the machine as one plain sentence: a full disk, a locked or unreadable database.

Nothing is lost by such an error: the run can be started again and continues where it stopped.
"""

import errno
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from sqlalchemy import NullPool, create_engine
from sqlalchemy.exc import DatabaseError, OperationalError

from autograder.model.course import Course
from autograder.model.errors import CourseError
from autograder.model.nbgrader_config import PATIENCE, database_url, gradebook_place, in_a_file

ERRNOS = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EMFILE, errno.ENFILE}
HINT = (
    "fix this and run the command again: it grades only what has not been recorded yet; "
    "'autograder doctor' checks this machine"
)


@contextmanager
def plain_database_errors(place: Path | str) -> Iterator[None]:
    """Turn a locked, full, damaged or unreachable database into a CourseError; a bug stays what it is."""
    try:
        yield
    except (DatabaseError, sqlite3.DatabaseError) as error:
        reason = getattr(error, "orig", error)
        of_the_machine = type(reason) in (sqlite3.OperationalError, sqlite3.DatabaseError)
        if not (of_the_machine or isinstance(error, OperationalError)):
            raise
        said = " ".join(str(reason).split())
        raise CourseError(f"{place} cannot be used: {said}; {HINT}") from error


@contextmanager
def plain_io_errors(course: Course) -> Iterator[None]:
    """Turn errors of the disk or the gradebook into a CourseError; a bug stays what it is."""
    with plain_database_errors(gradebook_place(course)):
        try:
            yield
        except OSError as error:
            if error.errno not in ERRNOS:
                raise
            where = error.filename or course.root
            raise CourseError(f"cannot write {where}: {error.strerror}; {HINT}") from error


def wait_for_gradebook(course: Course) -> None:
    """Wait until no other program writes to the gradebook's file, or until its server answers.

    Raises sqlite3.OperationalError if the file stays locked for longer than PATIENCE, and
    sqlalchemy's OperationalError if the server can't be reached.
    """
    if not in_a_file(course):
        create_engine(database_url(course), poolclass=NullPool).connect().close()
    elif course.gradebook.is_file():
        with closing(sqlite3.connect(course.gradebook, timeout=PATIENCE)) as book:
            book.execute("BEGIN IMMEDIATE")
            book.rollback()
