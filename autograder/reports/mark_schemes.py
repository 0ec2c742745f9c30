"""Mark schemes in formgrader: each stands under the written answer that it is for.

nbgrader_config.py names the preprocessor for the exporter that formgrader shows submissions with. Graded
notebooks and students' pages hold no mark scheme.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nbconvert.preprocessors import Preprocessor
from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell

from autograder.model.course import Course
from autograder.model.errors import AutograderError
from autograder.model.lesson_text import read_lesson
from autograder.submissions.nbgrader_cells import grade_id, is_graded, is_solution

Resources = dict[str, Any]  # nbconvert's, with formgrader's entries in it
OF_FORMGRADER = "submission_id"  # an entry that no other page is made with
TITLE = "**Mark scheme** (students don't see it)"


class ShowMarkSchemes(Preprocessor):  # type: ignore[misc] # nbconvert has no type annotations
    """Adds a cell under each written answer, on formgrader's pages only."""

    def preprocess(self, nb: NotebookNode, resources: Resources) -> tuple[NotebookNode, Resources]:
        """Return the notebook with the mark schemes of its lesson; without a text, as it is."""
        if OF_FORMGRADER not in resources:
            return nb, resources
        try:
            course = Course.find(Path(resources["metadata"]["path"]))
            schemes = mark_schemes(course, resources["assignment_id"])
        except (AutograderError, OSError) as error:
            self.log.warning("no mark schemes on this page: %s", error)
            return nb, resources
        return NotebookNode(nb | {"cells": list(_with_schemes(nb, schemes))}), resources


def mark_schemes(course: Course, lesson: str) -> dict[str, str]:
    """Return the mark scheme of each written exercise, by id. Raises LessonTextError."""
    text = read_lesson(course.text(lesson))
    found = {each.id: text.mark_scheme(each.id) for each in text.exercises if each.written}
    return {exercise: scheme for exercise, scheme in found.items() if scheme.strip()}


def _with_schemes(notebook: NotebookNode, schemes: dict[str, str]) -> Iterator[NotebookNode]:
    """Yield the cells, with a cell after each written answer."""
    for cell in notebook.cells:
        yield cell
        is_written = cell.cell_type == "markdown" and is_graded(cell) and is_solution(cell)
        if is_written and (scheme := schemes.get(grade_id(cell) or "")):
            yield new_markdown_cell(f"{TITLE}\n\n{scheme.strip()}")
