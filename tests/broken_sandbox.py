"""A bubblewrap that is installed but cannot start, as on Ubuntu 24.04."""

import os
from pathlib import Path

import pytest

SAID = "bwrap: setting up uid map: Permission denied"


@pytest.fixture
def broken_bwrap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a `bwrap` in front of the path that complains and exits with 1; give its path."""
    folder = tmp_path / "broken"
    folder.mkdir()
    program = folder / "bwrap"
    program.write_text(f'#!/bin/sh\necho "{SAID}" >&2\nexit 1\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", os.pathsep.join((str(folder), os.environ["PATH"])))
    return program
