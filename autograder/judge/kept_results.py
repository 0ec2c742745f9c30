"""Results of our own answers, kept from one run to the next in the SQLite file `course.results`.

Only what the reference and the known mistakes give is kept, never anything of a student's. It saves time and
nothing else: if the file is missing, locked or damaged, everything is computed again. It shows what right
answers give, so it is private like the course's key: never released, bundled or visible to a submission. A
document is a frame of `values`, through which a result went when it was observed: it comes back as it was.
"""

import contextlib
import hashlib
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any

from coursework.engine import values
from coursework.engine.observation import Observation, Raised

PATIENCE = 5.0  # seconds to wait for another grader that writes
_TABLE = """CREATE TABLE IF NOT EXISTS results (
    lesson TEXT NOT NULL, version TEXT NOT NULL, name TEXT NOT NULL, digest TEXT NOT NULL,
    document BLOB NOT NULL, PRIMARY KEY (lesson, version, name)
) WITHOUT ROWID"""
_GET = "SELECT document, digest FROM results WHERE lesson = ? AND version = ? AND name = ?"
_PUT = "INSERT OR REPLACE INTO results VALUES (?, ?, ?, ?, ?)"
_OLD = "DELETE FROM results WHERE lesson = ? AND version != ?"
Key = Sequence[object]


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


def _digest(document: bytes) -> str:
    return hashlib.sha256(document).hexdigest()


class KeptResults:
    """Looks results up before they are computed, and keeps those that were."""

    def __init__(self, store: ResultsFile | None = None) -> None:
        self._store = store

    def observation(self, key: Key, compute: Callable[[], Observation | None]) -> Observation | None:
        """Return what one of our answers gives; None for edits that exclude each other."""
        if self._store is None:
            return compute()
        return _from_plain(self._kept(("observation", *key), lambda: _to_plain(compute())))

    def number(self, key: Key, compute: Callable[[], int]) -> int:
        """Return a number, such as which of many draws is the first good one."""
        return int(self._kept(("number", *key), compute))

    def _kept(self, key: Key, compute: Callable[[], Any]) -> Any:
        if self._store is None:
            return compute()
        name = hashlib.sha256("\0".join(map(str, key)).encode()).hexdigest()
        document = self._store.get(name)
        if document is not None:
            return values.unpack_frame(document)
        plain = compute()
        with contextlib.suppress(values.WireError):  # too large to keep
            self._store.put(name, values.pack(plain))
        return plain


def _to_plain(seen: Observation | None) -> Any:
    if seen is None:
        return None
    raised = asdict(seen.raised) if seen.raised else None
    return {"value": seen.value, "raised": raised, "changed": seen.changed}


def _from_plain(plain: Any) -> Observation | None:
    if plain is None:
        return None
    raised = Raised(**plain["raised"]) if plain["raised"] else None
    return Observation(plain["value"], raised, plain["changed"])
