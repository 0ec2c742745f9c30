"""On a full disk and in a folder that cannot be written, every command ends with one line and status 2."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

from autograder.cli import COMMANDS
from autograder.model.course import CONFIG, Course

pytestmark = pytest.mark.skipif(not shutil.which("bwrap"), reason="bubblewrap mounts the two file systems")
LESSON = "03_attention"
COMMANDS_TO_TRY = {
    "build": ["build", "3"],
    "bundle": ["bundle"],
    "check": ["check", "inbox/ada/03_attention/03_attention.ipynb", "--page", "page.html"],
    "demo": ["demo", "--folder", "demo"],
    "export": ["export", "course", "3"],
    "grade": ["grade", "3", "--force", "--workers", "1"],
    "lectures": ["lectures", "3"],
    "new-exercise": ["new-exercise", "3", "one-more"],
    "open": ["open", "3", "--no-lab", "--folder", "copy"],
    "regrade": ["regrade", "3", "--apply", "--workers", "1"],
    "site": ["site"],
    "students": ["students", "--import", "class.csv"],
    "students, some of them known": ["students", "--import", "again.csv"],
    "watch": ["watch", "inbox", "--once"],
}
# Two only look, one writes into the program itself, and one serves pages until somebody grades.
NO_WRITER = {"doctor", "suggest-mistakes", "written"}
# Runs inside the mount namespace: copies the course to where it is to be, fills the rest, and tries everything.
DRIVER = """
import json, os, pathlib, shutil, sys
from click.testing import CliRunner
from autograder.cli import main

source, target, commands = sys.argv[1], pathlib.Path(sys.argv[2]), json.loads(sys.argv[3])
if not (target / "nbgrader_config.py").exists():
    shutil.copytree(source, target, dirs_exist_ok=True)
    try:
        for size in (1 << 20, 1 << 10, 1):
            with (target / f"filler-{size}").open("wb", buffering=0) as file:
                try:
                    while file.write(b"x" * size): pass
                except OSError: pass
    except OSError: pass
os.chdir(target)
for name, arguments in commands.items():
    done = CliRunner().invoke(main, arguments)
    crash = repr(done.exception) if done.exc_info and done.exc_info[0] is not SystemExit else ""
    print(json.dumps([name, done.exit_code, done.stderr, crash]), flush=True)
"""


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Course:
    """A course whose lesson 03 was graded for one student, with a text that is newer than its notebooks."""
    course = Course(tmp_path_factory.mktemp("course"))
    for name in (CONFIG, "requirements.txt", "requirements-pretrained.txt", "pyproject.toml"):
        shutil.copy(ROOT / name, course.root)
    for name in ("source", "release", "solutions", "coursework"):
        shutil.copytree(ROOT / name, course.root / name, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in (course.submission("ada", LESSON).parent, course.root / "inbox" / "bo" / LESSON,
                   course.root / "inbox" / "ada" / LESSON):  # fmt: skip
        folder.mkdir(parents=True)
        shutil.copy(course.release_notebook(LESSON), folder)
    (course.root / "class.csv").write_text("student id\ncyd\n")
    (course.root / "again.csv").write_text("student id,name\nada,Ada King\neve,Eve E\n")
    program = [sys.executable, "-m", "autograder", "--course", str(course.root), "grade", "3"]
    subprocess.run(program, check=True, capture_output=True, env={**os.environ, "PYTHONPATH": str(ROOT)})
    text = course.text(LESSON)
    text.write_text(text.read_text(encoding="utf-8").replace("# # ", "# # New: ", 1), encoding="utf-8")
    return course


def test_every_command_that_writes_is_tried() -> None:
    """A new command has to be added here."""
    assert {command.name for command in COMMANDS} == {key.partition(",")[0] for key in COMMANDS_TO_TRY} | NO_WRITER


@pytest.mark.full("runs every command twice", seconds=150)
@pytest.mark.parametrize("disk", ["read-only", "full"])
def test_what_cannot_be_written_gets_one_line(graded: Course, tmp_path: Path, disk: str) -> None:
    """No traceback, whatever the command was about to write."""
    place = graded.root if disk == "read-only" else tmp_path
    size = str(sum(path.stat().st_size for path in graded.root.rglob("*") if path.is_file()) + (4 << 20))
    mount = ["--ro-bind", place, place] if disk == "read-only" else ["--size", size, "--tmpfs", place]
    program = [sys.executable, "-c", DRIVER, graded.root, place, json.dumps(COMMANDS_TO_TRY)]
    command = ["bwrap", "--dev-bind", "/", "/", *mount, *program]
    done = subprocess.run(
        [*map(str, command)], check=False, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    tried = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]
    assert [name for name, *_ in tried] == [*COMMANDS_TO_TRY], done.stderr
    for name, status, said, crash in tried:
        assert (name, crash) == (name, "")
        assert (name, status, said.rstrip("\n").split("\n")[-1][:12]) == (name, 2, "autograder: "), said
        assert "Traceback" not in said, said


def test_a_gradebook_that_cannot_be_written_gets_one_line(graded: Course) -> None:
    """The traceback that nbgrader logs of such an error is kept from the terminal."""
    program = [sys.executable, "-m", "autograder", "students", "--import", "again.csv"]
    command = ["bwrap", "--dev-bind", "/", "/", "--ro-bind", graded.root, graded.root, "--chdir", graded.root, *program]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([*map(str, command)], check=False, capture_output=True, text=True, env=environment)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert "the gradebook cannot be used" in done.stderr
