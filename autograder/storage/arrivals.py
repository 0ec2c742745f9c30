"""Which submissions `autograder watch` has taken care of, in the same file as the attempts.

A submission is noted once its attempt is recorded everywhere, so that a watch that was stopped at any
time goes on with what it had not finished.
"""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from autograder.model.nbgrader_config import PATIENCE
from autograder.storage.attempts import DATABASE
from autograder.storage.io_errors import plain_database_errors

HOUR = 3600.0
_TABLE = """CREATE TABLE IF NOT EXISTS arrivals (
    key TEXT PRIMARY KEY, student TEXT NOT NULL, lesson TEXT NOT NULL, order_ TEXT NOT NULL,
    at REAL NOT NULL, counted INTEGER NOT NULL
)"""
_INSERT = "INSERT OR REPLACE INTO arrivals VALUES (?, ?, ?, ?, ?, ?)"
_KEYS = "SELECT key FROM arrivals"
_NEWEST = "SELECT student, lesson, max(order_) FROM arrivals GROUP BY student, lesson"
_COUNTED = "SELECT at FROM arrivals WHERE student = ? AND counted AND at > ? ORDER BY at"


class ArrivalLog:
    """The submissions that were taken care of. Each method raises CourseError as AttemptLog does."""

    def __init__(self, folder: Path) -> None:
        """Keep the log in `folder`, the course's `reports`."""
        self.path = folder / DATABASE

    def keys(self) -> set[str]:
        """Return the keys of all submissions that were taken care of."""
        with self._open() as database:
            return {key for (key,) in database.execute(_KEYS)}

    def newest(self) -> dict[tuple[str, str], str]:
        """Return the order of the newest submission taken care of, by student and lesson."""
        with self._open() as database:
            rows = database.execute(_NEWEST).fetchall()
        return {(student, lesson): order for student, lesson, order in rows}

    def add(self, key: str, student: str, lesson: str, order: str, *, counted: bool = True) -> None:
        """Note a submission; `counted` says whether it uses up one of the student's attempts."""
        with self._open() as database:
            database.execute(_INSERT, (key, student, lesson, order, time.time(), int(counted)))

    def wait(self, student: str, most: int) -> float:
        """Return the seconds until a student may have another attempt, of at most `most` an hour."""
        now = time.time()
        with self._open() as database:
            times = [at for (at,) in database.execute(_COUNTED, (student, now - HOUR))]
        return max(0.0, times[-most] + HOUR - now) if len(times) >= most else 0.0

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with (
            plain_database_errors(self.path),
            closing(sqlite3.connect(self.path, timeout=PATIENCE)) as database,
            database,
        ):
            database.execute(_TABLE)
            yield database
