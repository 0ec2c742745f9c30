"""nbgrader's Validate button works on every released lesson, without the autograder."""

import io
import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from conftest import ROOT, solve
from nbgrader.validator import Validator

from autograder.lecture.pages import only_sets_up
from autograder.model.course import Course

COURSE = Course(ROOT)
LOADS = "bert, tokeniser, note = load_bert()"  # lesson 08's tests use what it gives
# In the kernel, importing the autograder fails, as it does on a student's computer.
ABSENT = "import sys\nsys.modules['autograder'] = None"


def prepared(path: Path, *, lesson: str, solved: bool) -> Path:
    """Write a lesson as handed in, demos aside, which take the time; those that import stay."""
    notebook = (
        solve(COURSE, lesson)
        if solved
        else nbformat.read(COURSE.release_notebook(lesson), as_version=4)
    )
    notebook.cells = [
        cell
        for cell in notebook.cells
        if "demo" not in cell.metadata.get("tags", []) or only_sets_up(cell) or LOADS in cell.source
    ]
    notebook.cells.insert(0, nbformat.v4.new_code_cell(ABSENT))
    nbformat.write(notebook, path)
    return path


def said(path: Path) -> str:
    """Return what nbgrader's validation says of a notebook."""
    validator = Validator()
    validator.stream = io.StringIO()
    validator.validate_and_print(str(path))
    return validator.stream.getvalue()


@pytest.fixture(autouse=True)
def _coursework_of_this_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")


@pytest.mark.full("runs a lesson in a kernel", seconds=20)
@pytest.mark.parametrize("lesson", COURSE.lessons())
def test_a_solved_lesson_passes(lesson: str, tmp_path: Path) -> None:
    """Nothing on stderr, no partial credit: what students see is one word."""
    path = prepared(tmp_path / f"{lesson}.ipynb", lesson=lesson, solved=True)
    assert said(path).startswith("Success! Your notebook passes all the tests.")


@pytest.mark.full("runs a lesson in a kernel", seconds=20)
def test_an_untouched_lesson_is_told_what_fails(tmp_path: Path) -> None:
    """Each exercise's tests fail, and are shown with the reason."""
    path = prepared(tmp_path / "03_attention.ipynb", lesson="03_attention", solved=False)
    told = said(path)
    assert "VALIDATION FAILED ON 8 CELL(S)" in told
    assert told.count("The following cell failed:") == 8
    assert told.count("is not written yet") >= 7
    assert "Still to be answered" in told


@pytest.mark.full("runs a lesson in a kernel", seconds=20)
def test_the_command_says_so_too(tmp_path: Path) -> None:
    """`nbgrader validate` on the file that students get, as it is."""
    path = tmp_path / "01_embeddings.ipynb"
    path.write_bytes(COURSE.release_notebook("01_embeddings").read_bytes())
    done = subprocess.run(
        [sys.executable, "-m", "nbgrader", "validate", path.name],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
    )
    assert "VALIDATION FAILED ON" in done.stdout
    assert "HAVE CHANGED" not in done.stdout
