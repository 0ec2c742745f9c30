"""`autograder written` from the terminal: it says where to go, ends with Ctrl-C, and says what is wrong."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tiny_course import LESSON

from autograder.cli import main
from autograder.model.course import Course


def run(course: Course, *args: str) -> Result:
    """Run the command on a course."""
    return CliRunner().invoke(main, ["--course", str(course.root), "written", *args])


def test_before_anything_is_graded_it_says_what_to_do(course: Course, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one line, with status 2."""
    monkeypatch.chdir(course.root)
    result = run(course, "3")
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert f"no written answers of {LESSON} have been graded so far: run 'autograder grade' first" in result.stderr


def test_a_lesson_without_questions_is_told_from_others(course: Course, monkeypatch: pytest.MonkeyPatch) -> None:
    """And those with questions are named."""
    monkeypatch.chdir(course.root)
    course.text("04_other").write_text(course.text(LESSON).read_text().partition("# %% [markdown]\n# ### Exercise 3")[0])
    result = run(course, "04")
    assert result.exit_code == 2
    assert f"04_other asks for no written answer; these do: {LESSON}" in result.stderr


@pytest.mark.skipif(not shutil.which("bwrap"), reason="bubblewrap mounts the file system")
def test_where_nothing_can_be_written_it_says_so_in_one_line(handed_in: Course) -> None:
    """With status 2, and without a word on pages and points: nobody has given any."""
    root = str(handed_in.root)
    program = [sys.executable, "-m", "autograder", "--course", root, "written", "--no-browser"]
    command = ["bwrap", "--dev-bind", "/", "/", "--ro-bind", root, root, *program]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
    assert done.stderr.startswith("autograder: cannot read or write ")
    assert "Read-only file system" in done.stderr


@pytest.mark.full("a process of its own", seconds=10)
def test_it_serves_until_ctrl_c(handed_in: Course, tmp_path: Path) -> None:
    """The browser is opened by a file that only its owner can read; the address is on no command line."""
    seen = tmp_path / "seen"
    opener = tmp_path / "browser"
    opener.write_text(f'#!/bin/sh\necho "$1" > {seen}.part\nmv {seen}.part {seen}\n')
    opener.chmod(0o755)
    process = subprocess.Popen(
        [sys.executable, "-m", "autograder", "--course", str(handed_in.root), "written", "03"],
        cwd=handed_in.root, env=os.environ | {"BROWSER": f"{opener} %s"}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        end = time.monotonic() + 60
        while not seen.exists() and time.monotonic() < end:
            time.sleep(0.1)
        file = Path(seen.read_text().strip().removeprefix("file://"))
        assert file.stat().st_mode & 0o077 == 0
        address = re.search(r"http://127\.0\.0\.1:\d+/[\w-]{43}/", file.read_text())
        assert address
        assert b"0 of 3 graded" in urllib.request.urlopen(address[0], timeout=20).read()
    finally:
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert out.splitlines() == ["0 of 3 graded", f"grade at {address[0]}", "end with Ctrl-C", "0 of 3 graded"]
    assert err.splitlines() == ["bringing feedback pages and reports up to date"]
    assert not file.exists()
    assert handed_in.feedback_page("ada", LESSON).is_file()
