"""The instructor's notebook is what nbgrader expects; the model answers know nothing of it."""

from pathlib import Path
from typing import Any

import nbformat
from lesson_texts import LESSON, read_text
from nbformat.v4 import new_output
from nbgrader.nbgraderformat import MetadataValidator

from autograder.authoring.notebook import (
    as_text,
    difference,
    instructor_notebook,
    read_notebook,
    refused,
    solution_notebook,
    was_run,
)
from autograder.model.lesson_text import VISIBLE_TESTS, LessonText


def _cells(notebook: Any) -> dict[str, Any]:
    return {cell.id: cell for cell in notebook.cells}


def _roles(cell: Any) -> tuple[bool, bool, bool]:
    meta = cell.metadata.nbgrader
    return meta.grade, meta.solution, meta.locked


def test_nbgrader_accepts_the_metadata(lesson: LessonText) -> None:
    """The validator of nbgrader passes it, and finds the roles and points it should."""
    notebook = instructor_notebook(lesson)
    MetadataValidator().validate_nb(notebook)
    cells = _cells(notebook)
    assert _roles(cells["double"]) == (False, True, False)
    assert _roles(cells["double-test"]) == (True, False, True)
    assert _roles(cells["why"]) == (True, True, False)
    assert _roles(cells["setup-1"]) == _roles(cells["given-1"]) == (False, False, True)
    points = [cells[name].metadata.nbgrader.points for name in ("double-test", "answers-test", "why")]
    assert points == [12.5, 2.5, 5]
    assert not {"prose-1", "demo-1"} & {c for c in cells if "nbgrader" in cells[c].metadata}


def test_each_test_ends_in_its_hidden_line(lesson: LessonText) -> None:
    """The one line names lesson and exercise, between nbgrader's markers."""
    source = _cells(instructor_notebook(lesson))["answers-test"].source
    assert source.split("\n")[-3:] == [
        "### BEGIN HIDDEN TESTS",
        'grade("01_small/answers")',
        "### END HIDDEN TESTS",
    ]


def test_kinds_are_tags_and_headings_are_slides(lesson: LessonText) -> None:
    """A heading of the first two levels starts a slide, the third a slide below."""
    cells = _cells(solution_notebook(lesson))
    assert cells["demo-1"].metadata.tags == ["demo"]
    slides = {n: c.metadata.slideshow.slide_type for n, c in cells.items() if "slideshow" in c.metadata}
    assert slides == {"prose-1": "slide", "prose-2": "subslide", "demo-1": "fragment"}


def test_visible_tests_are_folded_below_a_line_that_says_what_they_are(lesson: LessonText) -> None:
    """JupyterLab shows the first line of folded code, and nothing else is folded."""
    for notebook in (instructor_notebook(lesson), solution_notebook(lesson)):
        cells = _cells(notebook)
        assert cells["double-test"].source.startswith(f"{VISIBLE_TESTS}\nassert double(3)")
        folded = [name for name, cell in cells.items() if cell.metadata.get("jupyter") == {"source_hidden": True}]
        assert folded == ["double-test", "answers-test"]


def test_model_answers_show_answers_only(lesson: LessonText) -> None:
    """No marker, no hidden test, no mark scheme, nothing of nbgrader."""
    text = as_text(solution_notebook(lesson))
    assert "two = 2" in text
    assert "Halving undoes it." in text
    for secret in ("BEGIN", "END ", "grade(", "an inverse is named", "nbgrader", "YOUR CODE"):
        assert secret not in text.replace("pygments", "")


def test_the_same_text_gives_the_same_bytes(tmp_path: Path) -> None:
    """Nothing random and no date goes into a notebook."""
    once = as_text(instructor_notebook(read_text(tmp_path, LESSON)))
    again = as_text(instructor_notebook(read_text(tmp_path, LESSON)))
    assert once == again
    assert "jupytext" not in once


def test_cells_are_what_counts(lesson: LessonText) -> None:
    """A source, a piece of metadata or a missing cell makes a difference; an output makes none."""
    new = solution_notebook(lesson)
    old = nbformat.reads(as_text(new), as_version=4)
    old.cells[1].outputs = [{"output_type": "stream", "name": "stdout", "text": "hello"}]
    assert difference(old, new) == ""
    old.cells[1].metadata.tags = ["given"]
    assert difference(old, new) == "cell 'setup-1' differs"
    shorter = solution_notebook(lesson)
    del shorter.cells[-1]
    assert "expected" in difference(nbformat.reads(as_text(new), as_version=4), shorter)
    assert difference(None, new) == "missing or unreadable"


def test_no_notebook_is_none(tmp_path: Path) -> None:
    """A file that is missing or torn is no notebook, and no error either."""
    assert read_notebook(tmp_path / "none.ipynb") is None
    (tmp_path / "torn.ipynb").write_text('{"cells": [')
    assert read_notebook(tmp_path / "torn.ipynb") is None


def test_a_notebook_was_run_when_each_cell_was(lesson: LessonText) -> None:
    """One code cell without a number is enough to say no."""
    notebook = solution_notebook(lesson)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for number, cell in enumerate(code, start=1):
        assert not was_run(notebook)
        cell.execution_count = number
    assert was_run(notebook)


def test_the_card_of_a_wrong_answer_is_found(lesson: LessonText) -> None:
    """A lesson that shows one, solved, is not finished."""
    notebook = solution_notebook(lesson)
    cell = next(cell for cell in notebook.cells if cell.cell_type == "code")
    cards = {
        "✓ double: Right": "",
        "● double: filled in": "",
        "✗ double: the sign is wrong": cell.id,
        "○ double: not tried": cell.id,
    }
    for text, found in cards.items():
        cell.outputs = [new_output("display_data", {"text/plain": text})]
        assert refused(notebook) == found
