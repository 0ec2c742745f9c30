"""What references and known mistakes give on a course's inputs: the SQLite file `course.results`.

It saves time and nothing else. If it is missing, locked or damaged, everything is computed again. Its
documents show what right answers give, so it is private like the course's key: never released, bundled or
visible to a submission.
"""

import contextlib
import hashlib
import sqlite3
from contextlib import closing
from pathlib import Path

PATIENCE = 5.0  # seconds to wait for another grader that writes
_TABLE = """CREATE TABLE IF NOT EXISTS results (
    lesson TEXT NOT NULL, version TEXT NOT NULL, name TEXT NOT NULL, digest TEXT NOT NULL,
    document BLOB NOT NULL, PRIMARY KEY (lesson, version, name)
) WITHOUT ROWID"""
_GET = "SELECT document, digest FROM results WHERE lesson = ? AND version = ? AND name = ?"
_PUT = "INSERT OR REPLACE INTO results VALUES (?, ?, ?, ?, ?)"
_OLD = "DELETE FROM results WHERE lesson = ? AND version != ?"


class ResultsFile:
    """The results for one version of one lesson. New ones are written by `save`."""

    def __init__(self, path: Path, lesson: str, version: str) -> None:
        self._path, self._place = path.resolve(), (lesson, version)
        self._new: dict[str, bytes] = {}
        self._reader: sqlite3.Connection | None = None

    def get(self, name: str) -> bytes | None:
        """Return the document of this name, None if there is none or it cannot be read."""
        if name in self._new:
            return self._new[name]
        with contextlib.suppress(sqlite3.Error):
            if self._reader is None and self._path.is_file():
                self._reader = sqlite3.connect(f"{self._path.as_uri()}?mode=ro", uri=True)
            if self._reader is not None:
                row = self._reader.execute(_GET, (*self._place, name)).fetchone()
                return row[0] if row and _digest(row[0]) == row[1] else None
        return None

    def put(self, name: str, document: bytes) -> None:
        """Keep a document until the next `save`."""
        self._new[name] = document

    def save(self) -> None:
        """Write what is new, and drop what earlier versions of the lesson gave."""
        if not self._new:
            return
        rows = [(*self._place, name, _digest(text), text) for name, text in self._new.items()]
        self._new.clear()
        try:
            self._path.touch(mode=0o600)  # readable by its owner only
            with closing(sqlite3.connect(self._path, timeout=PATIENCE)) as database, database:
                database.execute(_TABLE)
                database.execute(_OLD, self._place)
                database.executemany(_PUT, rows)
        except (sqlite3.OperationalError, OSError):  # locked, or the disk is full: computed again next time
            return
        except sqlite3.DatabaseError:  # damaged: the next run begins a new one
            self._path.unlink(missing_ok=True)

    def close(self) -> None:
        """Write what is new, and close the file."""
        self.save()
        if self._reader is not None:
            self._reader.close()
            self._reader = None


def _digest(document: bytes) -> str:
    return hashlib.sha256(document).hexdigest()
