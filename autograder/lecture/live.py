"""A lesson to run in front of a room: in JupyterLab, on a copy, so that nothing of the course changes."""

import shutil
import sys
from pathlib import Path

import nbformat

from autograder.authoring.files import write
from autograder.authoring.notebook import as_text
from autograder.lecture.pages import live_notebook
from autograder.model.course import Course
from autograder.model.errors import CourseError
from autograder.model.lesson_text import read_lesson


def copy_solved(course: Course, lesson: str, folder: Path) -> Path:
    """Copy a solved lesson and its pictures, laid out as slides; return the notebook.

    No earlier lesson lies next to it, so stand-ins take the place of what they built: any lesson
    can be opened first.
    """
    solved = course.solved_notebook(lesson)
    if not solved.is_file():
        raise CourseError(f"no solved lesson: expected {solved}; run 'autograder build {lesson}'")
    shutil.copytree(course.solutions / "images", folder / "images", dirs_exist_ok=True)
    notebook = nbformat.read(solved, as_version=4)
    laid_out = live_notebook(read_lesson(course.text(lesson)), notebook, solved.parent)
    write(folder / solved.name, as_text(laid_out).encode())
    return folder / solved.name


def copy_released(course: Course, lesson: str, folder: Path) -> Path:
    """Copy a released lesson as students have it; return the notebook."""
    released = course.release_notebook(lesson)
    shutil.copytree(released.parent, folder / lesson, dirs_exist_ok=True)
    return folder / lesson / released.name


def lab_command(notebook: Path) -> list[str]:
    """Return the command that opens a notebook in JupyterLab, rooted at its copy."""
    root = notebook.parent
    return [sys.executable, "-m", "jupyterlab", f"--ServerApp.root_dir={root}", str(notebook)]
