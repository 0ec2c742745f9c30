"""The logs in `reports`: every grading of every submission, what the watch has seen, the grader's own errors.

The first two are tables of the SQLite file attempts.db.
"""

import hashlib
import re
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from autograder.model.attempt import Attempt
from autograder.model.course import ERROR_LOG
from autograder.model.errors import CourseError
from autograder.model.nbgrader_config import PATIENCE
from autograder.model.text import clean
from autograder.storage.io_errors import plain_io_errors

DATABASE, EXPORT = "attempts.db", "attempts.jsonl"
HOUR = 3600.0
_ENTRY_OF = re.compile(r"^=== \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC, ")
_ENTRY = re.compile(f"(?m)(?={_ENTRY_OF.pattern})")
_ATTEMPTS = (
    """CREATE TABLE IF NOT EXISTS attempts (
        id INTEGER PRIMARY KEY, lesson TEXT NOT NULL, student TEXT NOT NULL, document TEXT NOT NULL
    )""",
    "CREATE INDEX IF NOT EXISTS by_lesson_and_student ON attempts (lesson, student)",
)
_ALL = "SELECT id, document FROM attempts ORDER BY id"
_LATEST = """SELECT id, document FROM attempts
    WHERE id IN (SELECT max(id) FROM attempts WHERE lesson = ? GROUP BY student)"""
_OF_STUDENT = """SELECT id, document FROM attempts
    WHERE id IN (SELECT id FROM attempts WHERE student = ?) ORDER BY id"""
_LAST = """SELECT id, document FROM attempts
    WHERE lesson = ? AND student = ? ORDER BY id DESC LIMIT 1"""
_AMEND = "UPDATE attempts SET document = ? WHERE id = ?"
_ARRIVALS = """CREATE TABLE IF NOT EXISTS arrivals (
    key TEXT PRIMARY KEY, student TEXT NOT NULL, lesson TEXT NOT NULL, order_ TEXT NOT NULL,
    at REAL NOT NULL, counted INTEGER NOT NULL, seconds REAL NOT NULL
)"""


class Spent(NamedTuple):
    """When a submission was taken care of, whether it was an attempt, and the seconds that it took."""

    at: float
    counted: int
    seconds: float


def seconds_to_wait(spent: Sequence[Spent], most: int, share: float) -> float:
    """Return how long a student has to wait who `spent` this in the last hour, the oldest first.

    Nobody has to who made fewer than `most` attempts, in less than `share` seconds of grading.
    """
    until = now = time.time()
    rest = list(spent)
    while sum(each.counted for each in rest) >= most or sum(each.seconds for each in rest) >= share:
        until = rest.pop(0).at + HOUR
    return until - now


class AttemptLog:
    """The attempts of a course, in the order in which they were made.

    Each method raises CourseError if the database is locked, full or damaged.
    """

    def __init__(self, folder: Path) -> None:
        """Keep the log in `folder`, the course's `reports`; both are made when first needed."""
        self.path, self.export_path = folder / DATABASE, folder / EXPORT

    def append(self, attempt: Attempt) -> None:
        """Add one attempt; it is on the disk when this returns."""
        with self._transaction() as database:
            _insert(database, attempt)

    def amend(self, attempt: Attempt) -> bool:
        """Replace the student's newest attempt with this version of it, which says more.

        Returns False, and changes nothing, if another attempt was recorded meanwhile.
        """
        with self._transaction() as database:
            newest = database.execute(_LAST, (attempt.lesson, attempt.student)).fetchone()
            if newest is None or self._parse(*newest).graded_at != attempt.graded_at:
                return False
            database.execute(_AMEND, (attempt.model_dump_json(), newest[0]))
        return True

    def __iter__(self) -> Iterator[Attempt]:
        """Return all attempts, oldest first."""
        return iter(self._select(_ALL))

    def latest(self, lesson: str) -> dict[str, Attempt]:
        """Return the newest attempt of each student at one lesson, by student."""
        return {attempt.student: attempt for attempt in self._select(_LATEST, lesson)}

    def graded(self, lesson: str) -> dict[str, Attempt]:
        """Return the newest attempts, as `latest` does. Raises CourseError if the lesson was never graded."""
        attempts = self.latest(lesson) if self.path.parent.is_dir() else {}
        if not attempts:
            raise CourseError(f"nothing of {lesson} was graded so far: run 'autograder grade {lesson}' first")
        return attempts

    def last(self, student: str, lesson: str) -> Attempt | None:
        """Return a student's newest attempt at one lesson, if there is one."""
        return next(iter(self._select(_LAST, lesson, student)), None)

    def of_student(self, student: str) -> dict[str, list[Attempt]]:
        """Return a student's attempts at each lesson, oldest first."""
        found: dict[str, list[Attempt]] = {}
        for attempt in self._select(_OF_STUDENT, student):
            found.setdefault(attempt.lesson, []).append(attempt)
        return found

    def forget(self, student: str) -> None:
        """Remove all attempts of a student, from attempts.jsonl too."""
        with self._transaction() as database:
            database.execute("DELETE FROM attempts WHERE student = ?", (student,))
        self.export()

    def export(self) -> None:
        """Write all attempts to attempts.jsonl, one JSON document per line, oldest first."""
        draft = self.export_path.with_suffix(".draft")
        with self._transaction() as database, draft.open("w", encoding="utf-8") as file:
            file.writelines(f"{document}\n" for _, document in database.execute(_ALL))
        draft.replace(self.export_path)

    def _select(self, query: str, *values: str) -> list[Attempt]:
        with self._transaction() as database:
            rows = database.execute(query, values).fetchall()
        return [self._parse(key, document) for key, document in rows]

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with _opened(self.path) as database:
            for statement in _ATTEMPTS:
                database.execute(statement)
            yield database

    def _parse(self, key: int, document: str) -> Attempt:
        try:
            return Attempt.model_validate_json(document)
        except ValidationError as error:
            raise CourseError(
                f"{self.path}, attempt {key} is not an attempt that this version understands: repair it, or "
                f"move {DATABASE} and {EXPORT} away to start a new log (the gradebook keeps its scores)"
            ) from error


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    """Open the database for one transaction, which an exception rolls back."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with (
        plain_io_errors(path),
        closing(sqlite3.connect(path, timeout=PATIENCE, isolation_level=None)) as database,
        database,
    ):
        database.execute("BEGIN IMMEDIATE")
        yield database


def _insert(database: sqlite3.Connection, attempt: Attempt) -> None:
    row = attempt.lesson, attempt.student, attempt.model_dump_json()
    database.execute("INSERT INTO attempts (lesson, student, document) VALUES (?, ?, ?)", row)


def nameless(key: str) -> str:
    """Return what tells a submission from others without naming its student."""
    return hashlib.sha256(key.encode("utf-8", "backslashreplace")).hexdigest()


class ArrivalLog:
    """The submissions that `autograder watch` has taken care of; `folder` is the course's `reports`.

    A submission is noted once its attempt is recorded everywhere, so that a watch that was stopped at any
    time goes on with what it had not finished. Each method raises CourseError as AttemptLog does.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / DATABASE

    def keys(self) -> set[str]:
        """Return the keys of all submissions that were taken care of; a removed student's are nameless."""
        return {key for (key,) in self._execute("SELECT key FROM arrivals")}

    def newest(self) -> dict[tuple[str, str], str]:
        """Return the order of the newest submission taken care of, by student and lesson."""
        query = "SELECT student, lesson, max(order_) FROM arrivals GROUP BY student, lesson"
        return {(student, lesson): order for student, lesson, order in self._execute(query)}

    def add(
        self, key: str, student: str, lesson: str, order: str, *, counted: bool = True, seconds: float = 0.0
    ) -> None:
        """Note a submission; `counted` says whether it uses up one of the student's attempts."""
        row = key, student, lesson, order, time.time(), int(counted), seconds
        self._execute("INSERT OR REPLACE INTO arrivals VALUES (?, ?, ?, ?, ?, ?, ?)", *row)

    def spent(self) -> dict[str, list[Spent]]:
        """Return what each student used in the last hour, the oldest first."""
        query = "SELECT student, at, counted, seconds FROM arrivals WHERE at > ? ORDER BY at"
        found: dict[str, list[Spent]] = {}
        for student, *spent in self._execute(query, time.time() - HOUR):
            found.setdefault(student, []).append(Spent(*spent))
        return found

    def forget(self, student: str) -> None:
        """Make all submissions of a student nameless: they stay in the inbox, and are not graded again."""
        for (key,) in self._execute("SELECT key FROM arrivals WHERE student = ?", student):
            self._execute("UPDATE arrivals SET key = ?, student = '' WHERE key = ?", nameless(key), key)

    def _execute(self, query: str, *values: object) -> list[Any]:
        with _opened(self.path) as database:
            database.execute(_ARRIVALS)
            return database.execute(query, values).fetchall()


def log_error(folder: Path, at: datetime, subject: str, detail: str) -> Path:
    """Append what went wrong, when and on what, to the log in `folder`; return the log's path.

    The log is for the instructor alone: a traceback may quote the model answer.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / ERROR_LOG
    with path.open("a", encoding="utf-8") as file:
        file.write(f"=== {at:%Y-%m-%d %H:%M:%S} UTC, {clean(subject)}\n{detail}\n\n")
    return path


def forget_errors(folder: Path, student: str) -> None:
    """Remove a student's entries from the log of the grader's own errors."""
    path = folder / ERROR_LOG
    if path.is_file():
        entries = _ENTRY.split(path.read_text(encoding="utf-8"))
        left = [each for each in entries if not _ENTRY_OF.sub("", each).startswith(f"{clean(student)}, ")]
        path.write_text("".join(left), encoding="utf-8")
