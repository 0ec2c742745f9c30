"""Fixtures shared by all tests: the real course, one warm marker, solved notebooks."""

import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import nbformat
import pytest
import torch

from autograder.build import read_lesson
from autograder.course import Course
from autograder.marker import Marker

ROOT = Path(__file__).resolve().parent.parent
torch.set_num_threads(1)  # as when marking: for small tensors a second thread costs more than it gives
Edit = Callable[[str], str]


@pytest.fixture(scope="session")
def course() -> Course:
    """The course of this repository."""
    return Course(ROOT)


@pytest.fixture(scope="session")
def marker(course: Course) -> Iterator[Marker]:
    """One warm marker for the whole run: in the sandbox where there is one."""
    with Marker(course, sandboxed=shutil.which("bwrap") is not None, seed=20) as warm:
        yield warm


def solve(course: Course, lesson: str, edits: Mapping[str, Edit] | None = None) -> Any:
    """Return the released notebook with the model answers in it, some of them edited."""
    text = read_lesson(course.text(lesson))
    notebook = nbformat.read(course.release_notebook(lesson), as_version=4)
    for cell in notebook.cells:
        about = cell.metadata.get("nbgrader", {})
        if about.get("solution"):
            answer = text.answer(about["grade_id"])
            cell.source = (edits or {}).get(about["grade_id"], lambda source: source)(answer)
    return notebook


@pytest.fixture
def hand_in(course: Course, tmp_path: Path) -> Callable[..., Path]:
    """Write a solved notebook with edits, and return where it lies."""

    def write(lesson: str, **edits: Edit | str) -> Path:
        """Edits by exercise id, underscores for hyphens: a function of the answer, or a whole cell."""
        changes: dict[str, Edit] = {}
        for name, edit in edits.items():
            changes[name.replace("_", "-")] = (
                edit if callable(edit) else (lambda _, text=edit: text)
            )
        path = tmp_path / f"{lesson}.ipynb"
        nbformat.write(solve(course, lesson, changes), path)
        return path

    return write
