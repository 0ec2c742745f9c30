"""The instructor's notebook is what nbgrader expects; the model answers know nothing of it."""

from pathlib import Path
from typing import Any

from lesson_texts import LESSON, read_text
from nbgrader.nbgraderformat import MetadataValidator

from autograder.authoring.notebook import as_text, instructor_notebook, solution_notebook
from autograder.model.lesson_text import LessonText


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
    points = [
        cells[name].metadata.nbgrader.points for name in ("double-test", "answers-test", "why")
    ]
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
    slides = {
        n: c.metadata.slideshow.slide_type for n, c in cells.items() if "slideshow" in c.metadata
    }
    assert slides == {"prose-1": "slide", "prose-2": "subslide", "demo-1": "fragment"}


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
