"""A lesson opened in front of a room is a copy: whatever happens to it, the course stays as it is."""

from pathlib import Path

import nbformat
import pytest
from click.testing import CliRunner
from conftest import ROOT

from autograder.cli import main
from autograder.course import Course
from autograder.errors import CourseError
from autograder.lecture import live

COURSE = Course(ROOT)


@pytest.mark.parametrize("wanted", ["3", "03", "03_attention"])
def test_a_number_names_a_lesson(wanted: str) -> None:
    """With or without its zero, or the whole name."""
    assert live.lesson_name(COURSE, wanted) == "03_attention"


def test_a_lesson_that_is_not_there_is_named_with_those_that_are() -> None:
    """The message lists what there is."""
    with pytest.raises(CourseError, match="no lesson '12': there are 01_embeddings"):
        live.lesson_name(COURSE, "12")


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
