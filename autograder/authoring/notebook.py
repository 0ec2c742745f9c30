"""Notebooks from a lesson's text, and how they differ from those on disk.

Of a text there are two: nbgrader's instructor notebook, and the model answers.
"""

import re
from pathlib import Path
from typing import Any

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from autograder.model.lesson_text import CellKind, LessonCell, LessonText, Region, enclosed, tucked, without

SCHEMA = 3  # of nbgrader's cell metadata
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {
        "codemirror_mode": {"name": "ipython", "version": 3},
        "file_extension": ".py",
        "mimetype": "text/x-python",
        "name": "python",
        "nbconvert_exporter": "python",
        "pygments_lexer": "ipython3",
    },
}
GOES_ON = "raises-exception"  # Jupyter runs the cells below such a cell whatever it raises
NOT_RIGHT = ("✗", "○")  # how the card of a wrong answer begins, or of one that was not tried
HEADING = re.compile(r"^\s*(#{1,3}) ")
HEADING_SLIDES = {1: "slide", 2: "slide", 3: "subslide"}


def instructor_notebook(lesson: LessonText) -> Any:
    """Return nbgrader's instructor notebook: answers, hidden tests, cell metadata."""
    return _notebook([_instructor_cell(cell, lesson.name) for cell in lesson.cells])


def solution_notebook(lesson: LessonText) -> Any:
    """Return the model answers, not run yet: no marker, no hidden test, nothing of nbgrader."""
    cells = [
        _cell(cell, without(cell.in_notebooks, Region.HIDDEN, Region.SCHEME), _shown(cell))
        for cell in lesson.cells
    ]
    return _notebook(cells)


def as_text(notebook: Any) -> str:
    """Return a notebook as it is kept in a file: equal notebooks give equal bytes."""
    return str(nbformat.writes(notebook, version=4)).rstrip("\n") + "\n"


def _notebook(cells: list[Any]) -> Any:
    notebook = new_notebook(cells=cells, metadata=METADATA)
    notebook.nbformat_minor = 5  # the first that has cell ids
    nbformat.validate(notebook)
    return notebook


def _cell(cell: LessonCell, text: str, metadata: dict[str, Any]) -> Any:
    new = new_markdown_cell if cell.kind.is_markdown else new_code_cell
    return new(text, id=cell.id, metadata=metadata)


def _instructor_cell(cell: LessonCell, lesson: str) -> Any:
    metadata = _shown(cell)
    if not cell.kind.is_markdown and cell.kind is not CellKind.SETUP:
        metadata["tags"] = [*metadata.get("tags", ()), GOES_ON]
    if cell.kind not in (CellKind.PROSE, CellKind.DEMO):
        metadata["nbgrader"] = _nbgrader(cell)
    text = cell.in_notebooks
    if cell.kind is CellKind.TEST:
        # a marker that nobody runs: it names the checks, and shows that nothing hidden survives a release
        hidden = enclosed(f'grade("{lesson}/{cell.exercise}")', Region.HIDDEN)
        text = f"{text.rstrip()}\n{hidden}".lstrip("\n")
    elif cell.kind is CellKind.WRITTEN:
        text = tucked(text)
    return _cell(cell, text, metadata)


def _nbgrader(cell: LessonCell) -> dict[str, Any]:
    graded = cell.kind in (CellKind.TEST, CellKind.WRITTEN)
    metadata: dict[str, Any] = {
        "grade": graded,
        "grade_id": cell.id,
        "locked": not cell.kind.is_answered,
        "schema_version": SCHEMA,
        "solution": cell.kind.is_answered,
        "task": False,
    }
    if graded:
        metadata["points"] = int(cell.points) if cell.points.is_integer() else cell.points
    return metadata


def _shown(cell: LessonCell) -> dict[str, Any]:
    """Return the metadata that any reader may have: the kind as a tag, the place in the slides.

    The code of visible tests is folded: JupyterLab shows its first line, and what it says below.
    """
    metadata: dict[str, Any] = {}
    if cell.kind in (CellKind.SETUP, CellKind.GIVEN, CellKind.DEMO):
        metadata["tags"] = [str(cell.kind)]
    if cell.kind is CellKind.TEST:
        metadata["jupyter"] = {"source_hidden": True}
    heading = HEADING.match(cell.text) if cell.kind is CellKind.PROSE else None
    slide = cell.slide or (HEADING_SLIDES[len(heading[1])] if heading else "")
    if slide:
        metadata["slideshow"] = {"slide_type": slide}
    return metadata


def read_notebook(path: Path) -> Any:
    """Return a notebook, or None if it cannot be read."""
    try:
        return nbformat.read(path, as_version=4)
    except (OSError, ValueError, nbformat.validator.NotebookValidationError):
        return None


def difference(old: Any, new: Any) -> str:
    """Return what differs between two notebooks' cells: sources and metadata; '' for nothing."""
    if old is None:
        return "missing or unreadable"
    for before, after in zip(old.cells, new.cells, strict=False):
        if any(before.get(key) != after.get(key) for key in ("id", "cell_type", "source", "metadata")):
            return f"cell '{after.get('id')}' differs"
    if len(old.cells) != len(new.cells):
        return f"expected {len(new.cells)} cells, got {len(old.cells)}"
    return ""


def same_code(old: Any, new: Any) -> bool:
    """Return whether two notebooks have the same code cells, whatever the prose between them says."""
    return old is not None and _code(old) == _code(new)


def with_outputs_of(old: Any, new: Any) -> None:
    """Give a notebook the outputs of another one that has the same code, and the widgets' state."""
    cells = (cell for cell in old.cells if cell.cell_type == "code")
    for cell, run in zip((cell for cell in new.cells if cell.cell_type == "code"), cells, strict=True):
        cell.outputs, cell.execution_count = run.outputs, run.execution_count
    new.metadata = old.metadata


def _code(notebook: Any) -> list[tuple[str, str]]:
    return [(cell.id, cell.source) for cell in notebook.cells if cell.cell_type == "code"]


def was_run(notebook: Any) -> bool:
    """Return whether every code cell of a notebook was run."""
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return all(cell.execution_count for cell in code if cell.source.strip())


def refused(notebook: Any) -> str:
    """Return the id of the first cell with a card of an answer that is wrong or not tried; '' for none."""
    for cell in notebook.cells:
        texts = [output.get("data", {}).get("text/plain", "") for output in cell.get("outputs", ())]
        if any(text.startswith(NOT_RIGHT) for text in texts):
            return str(cell.id)
    return ""
