"""Kept results save time: without the file, or with a damaged one, everything is computed again."""

import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest

from autograder.judge.kept_results import ResultsFile

DOCUMENT = b"what the reference gives"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Give the path of a file with one document."""
    file = ResultsFile(tmp_path / "course.results", "03_attention", "version 1")
    file.put("name", DOCUMENT)
    file.save()
    return tmp_path / "course.results"


def get(path: Path, lesson: str = "03_attention", version: str = "version 1") -> bytes | None:
    """Return what a new reader finds."""
    file = ResultsFile(path, lesson, version)
    found = file.get("name")
    file.save()
    return found


def test_a_document_comes_back(path: Path) -> None:
    """It is found under its lesson, its version and its name, and nowhere else."""
    assert get(path) == DOCUMENT
    assert get(path, lesson="04_multi_head_attention") is None
    assert get(path, version="version 2") is None


def test_only_the_owner_can_read_it(path: Path) -> None:
    """It shows what right answers give."""
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_new_version_replaces_the_old_one(path: Path) -> None:
    """The file does not grow with every change of a lesson; other lessons keep theirs."""
    for lesson, version in (("04_multi_head_attention", "1"), ("03_attention", "version 2")):
        file = ResultsFile(path, lesson, version)
        file.put("name", b"new")
        file.save()
    assert get(path) is None
    assert get(path, version="version 2") == b"new"
    assert get(path, "04_multi_head_attention", "1") == b"new"


def test_a_document_that_was_tampered_with_is_not_used(path: Path) -> None:
    """A flipped bit on the disk is no result."""
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE results SET document = ?", (b"something else",))
    assert get(path) is None


def test_a_damaged_file_is_replaced(path: Path) -> None:
    """The run that finds it computes everything; the run after that begins a new file."""
    path.write_bytes(b"no database" * 1000)
    for expected in (None, DOCUMENT):
        file = ResultsFile(path, "03_attention", "version 1")
        assert file.get("name") is None
        file.put("name", DOCUMENT)
        file.save()
        assert get(path) == expected


def test_a_locked_file_costs_nothing_but_time(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run goes on without keeping its results."""
    monkeypatch.setattr("autograder.judge.kept_results.PATIENCE", 0.01)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        file = ResultsFile(path, "03_attention", "version 1")
        file.put("another", DOCUMENT)
        file.save()
    assert get(path) == DOCUMENT
    assert file.get("another") is None


def test_a_folder_that_cannot_be_written_costs_nothing_but_time(tmp_path: Path) -> None:
    """Nothing is kept, and nothing fails."""
    file = ResultsFile(tmp_path / "missing" / "course.results", "03_attention", "1")
    file.put("name", DOCUMENT)
    assert file.get("name") == DOCUMENT
    file.save()
    assert not (tmp_path / "missing").exists()
