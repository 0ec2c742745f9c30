"""A lesson opened in front of a room is a copy: whatever happens to it, the course stays as it is."""

import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from click.testing import CliRunner
from conftest import ROOT

from autograder.cli import main
from autograder.lecture import live
from autograder.model.course import Course

COURSE = Course(ROOT)


def test_the_solved_lesson_comes_with_its_pictures(tmp_path: Path) -> None:
    """Every picture it shows lies beside it, and the slides' settings are in it."""
    notebook = live.copy_solved(COURSE, "03_attention", tmp_path)
    assert notebook.parent == tmp_path
    assert (tmp_path / "images" / "attention_retrieval.svg").is_file()
    assert nbformat.read(notebook, as_version=4).metadata["rise"]["scroll"] is True


def test_the_released_lesson_is_what_a_student_has(tmp_path: Path) -> None:
    """The same bytes, in a folder of its own."""
    notebook = live.copy_released(COURSE, "03_attention", tmp_path)
    assert notebook.read_bytes() == COURSE.release_notebook("03_attention").read_bytes()
    assert notebook.parent.name == "03_attention"


@pytest.mark.parametrize("options", [(), ("--student",)])
def test_the_command_makes_a_copy_and_says_where(tmp_path: Path, options: tuple[str, ...]) -> None:
    """`make lesson N=3` and `make student N=3`, JupyterLab aside."""
    command = ["open", "3", "--no-lab", "--folder", str(tmp_path), *options]
    told = CliRunner().invoke(main, command)
    assert told.exit_code == 0, told.output
    assert Path(told.output.split(": ")[1].strip()).is_file()


def test_jupyterlab_sees_the_copy_and_nothing_else(tmp_path: Path) -> None:
    """Its root is the folder of the copy."""
    command = live.lab_command(tmp_path / "03_attention.ipynb")
    assert f"--ServerApp.root_dir={tmp_path}" in command


# Runs the set-up of notebooks, each in its own folder, and says what was brought in from where.
SET_UP = """
import json, os, sys
for path in sys.argv[1:]:
    os.chdir(os.path.dirname(path))
    cells = json.load(open(path))["cells"]
    (setup,) = [cell for cell in cells if cell["id"] == "setup-1"]
    exec("".join(setup["source"]), {})
"""


def test_any_lesson_can_be_opened_first(tmp_path: Path) -> None:
    """What earlier lessons build is there: without them next door, stand-ins take over."""
    paths = []
    for name in COURSE.lessons():
        paths += [live.copy_solved(COURSE, name, tmp_path / name / "solved")]
        paths += [live.copy_released(COURSE, name, tmp_path / name / "released")]
    done = subprocess.run(
        [sys.executable, "-c", SET_UP, *map(str, paths)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("MultiHeadAttention: the stand-in, since") >= 2
    assert "Decoder: the stand-in, since" in done.stdout
