"""Setting up takes the Python that is there, and says what is missing before it begins."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import ROOT

NEEDED = ("sh", "dirname", "id", "sed", "grep")
INSTALL = "sudo apt-get install python3 python3-venv git make bubblewrap libseccomp2"
SetUp = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A folder with the programs of a minimal machine: no Python, no git."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in NEEDED:
        (folder / name).symlink_to(shutil.which(name) or name)
    return folder


@pytest.fixture
def set_up(programs: Path, tmp_path: Path) -> SetUp:
    """Run the script on a machine that has only these programs."""

    def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [ROOT / "tools" / "set_up.sh", tmp_path / "venv", *arguments],
            env={"PATH": str(programs)}, capture_output=True, text=True, check=False,
        )  # fmt: skip

    return run


def _program(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def _too_old(path: Path) -> None:
    _program(path, 'case "$2" in *version_info*) exit 1 ;; *) echo 3.9.2 ;; esac')


def test_all_that_is_missing_is_said_at_once(set_up: SetUp, tmp_path: Path) -> None:
    """With the line that installs it; nothing is made."""
    done = set_up()
    assert done.returncode == 1
    assert "Python 3.11 or newer: python3 is not there" in done.stderr
    assert "\n  git\n" in done.stderr
    assert INSTALL in done.stderr
    assert not (tmp_path / "venv").exists()


def test_a_python_that_is_too_old_is_said_to_be(set_up: SetUp, programs: Path) -> None:
    """With its version."""
    _too_old(programs / "python3")
    assert "python3 is 3.9.2" in set_up().stderr


def test_a_python_without_venv_is_said_to_be(set_up: SetUp, programs: Path) -> None:
    """As on Debian, where that is a package of its own."""
    _program(programs / "python3", 'case "$2" in *ensurepip*) exit 1 ;; esac')
    (programs / "git").symlink_to("/bin/true")
    done = set_up()
    assert "the package python3-venv" in done.stderr
    assert "git\n" not in done.stderr.split("apt-get")[0]


def test_a_python_that_was_asked_for_is_named(set_up: SetUp, programs: Path) -> None:
    """Another is not taken in its place."""
    (programs / "python3").symlink_to(sys.executable)
    assert "python3.12 is not there" in set_up("python3.12").stderr


def _chosen(programs: Path, call: str) -> str:
    script = f". {ROOT}/tools/pythons.sh; {call}"
    done = subprocess.run(
        ["/bin/sh", "-c", script],
        env={"PATH": str(programs), "HOME": str(programs)}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout.strip()


def test_the_python_that_is_there_is_taken(programs: Path) -> None:
    """`python3` if it is new enough, else the newest other; a shim that does not run is passed over."""
    _program(programs / "python3.13", "exit 127")
    (programs / "python3.12").symlink_to(os.path.realpath(sys.executable))
    (programs / "python3.11").symlink_to(os.path.realpath(sys.executable))
    _too_old(programs / "python3")
    assert _chosen(programs, "first_new_enough") == "python3.12"
    _program(programs / "python3", "exit 0")
    assert _chosen(programs, "first_new_enough") == "python3"


def test_pythons_of_pyenv_are_found(programs: Path) -> None:
    """Where the path has only a shim that does not run."""
    _program(programs / "python3.13", "exit 127")
    python = programs / ".pyenv" / "versions" / "3.13.0" / "bin" / "python"
    python.parent.mkdir(parents=True)
    _program(python, "exit 0")
    assert _chosen(programs, "find_python 3.13") == str(python)
    assert _chosen(programs, "find_python 3.14") == ""
