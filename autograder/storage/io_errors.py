"""Errors of the machine as one plain sentence: a full disk, missing rights, a locked or unreadable database.

Nothing is lost by such an error: the run can be started again and continues where it stopped.
"""

import errno
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from nbgrader.api import InvalidEntry
from sqlalchemy import NullPool, create_engine
from sqlalchemy.exc import DatabaseError, OperationalError

from autograder.model.course import Course
from autograder.model.errors import CourseError
from autograder.model.nbgrader_config import PATIENCE, database_url, gradebook_place, in_a_file

# What no submission can cause: the disk is full or broken, or too many files are open.
ERRNOS = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EMFILE, errno.ENFILE}
# What else keeps a file from being read or written: missing rights, or something in its place.
_REFUSED = {
    errno.EACCES, errno.EPERM, errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ENOTEMPTY, errno.EBUSY,
    errno.EFBIG, errno.ENAMETOOLONG, errno.ELOOP, errno.EXDEV, errno.ESTALE,
}  # fmt: skip
HINT = (
    "fix this and run the command again: what was finished is kept; 'autograder doctor' checks this machine"
)


def machine_error(error: Exception, place: Path | str = "the gradebook") -> CourseError | None:
    """Return what to say of a file or database that can't be used; None if the error is a bug.

    `place` is where a database is. Every command goes through here; see `commands.base.CommandGroup`.
    """
    if isinstance(error, InvalidEntry) and isinstance(error.__context__, Exception):
        error = error.__context__  # nbgrader reports any error of its database as that
    if isinstance(error, (DatabaseError, sqlite3.DatabaseError)):
        reason = getattr(error, "orig", error)
        of_the_machine = type(reason) in (sqlite3.OperationalError, sqlite3.DatabaseError)
        if of_the_machine or isinstance(error, OperationalError):
            return CourseError(f"{place} cannot be used: {' '.join(str(reason).split())}; {HINT}")
    elif isinstance(error, shutil.Error):  # of a whole folder: what went wrong last says enough
        *_, reason = error.args[0][-1] if isinstance(error.args[0], list) else error.args
        return CourseError(f"cannot copy a folder: {reason}; {HINT}")
    elif isinstance(error, OSError):
        no_place = isinstance(error, FileNotFoundError) and "No usable temporary directory" in str(error)
        if no_place or error.errno in ERRNOS | _REFUSED:
            where = error.filename or "a file"  # a write to an open file doesn't say which
            return CourseError(f"cannot read or write {where}: {error.strerror or error}; {HINT}")
    return None


@contextmanager
def plain_io_errors(place: Course | Path) -> Iterator[None]:
    """Turn errors of the disk or of a database into a CourseError; a bug stays what it is.

    `place` is the database's file, or the course whose gradebook it is.
    """
    try:
        yield
    except (OSError, DatabaseError, sqlite3.DatabaseError) as error:
        where = place if isinstance(place, Path) else gradebook_place(place)
        if (known := machine_error(error, where)) is None:
            raise
        raise known from error


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
