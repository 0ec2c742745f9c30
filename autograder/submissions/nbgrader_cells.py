"""What nbgrader's metadata says about the cells of a notebook."""

import hashlib
from collections.abc import Iterator
from typing import Any

from nbformat import NotebookNode

TEST = "-test"  # a test cell's grade_id is its exercise's id with this suffix


def metadata(cell: NotebookNode) -> dict[str, Any]:
    """Return nbgrader's metadata of a cell; empty if it has none."""
    found = cell.metadata.get("nbgrader")
    return found if isinstance(found, dict) else {}


def grade_id(cell: NotebookNode) -> str | None:
    """Return the nbgrader id of a cell, or None."""
    found = metadata(cell).get("grade_id")
    return found if isinstance(found, str) else None


def exercise_of(grade_id: str) -> str:
    """Return the id of the exercise that a cell with this grade_id belongs to."""
    return grade_id.removesuffix(TEST)


def is_solution(cell: NotebookNode) -> bool:
    """Return whether the student writes an answer in this cell."""
    return bool(metadata(cell).get("solution"))


def is_graded(cell: NotebookNode) -> bool:
    """Return whether nbgrader gives points for this cell: a test or a written answer."""
    return bool(metadata(cell).get("grade"))


def graded_cells(notebook: NotebookNode) -> Iterator[tuple[str, NotebookNode]]:
    """Yield the exercise id and the cell of everything that nbgrader gives points for."""
    for cell in notebook.cells:
        if is_graded(cell):
            yield exercise_of(metadata(cell)["grade_id"]), cell


def answer_digests(notebook: NotebookNode) -> dict[str, str]:
    """Return the SHA-256 of each answer in an aligned notebook, by exercise id."""
    return {
        metadata(cell)["grade_id"]: hashlib.sha256(cell.source.encode()).hexdigest()
        for cell in notebook.cells
        if is_solution(cell)
    }
