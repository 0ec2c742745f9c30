"""The graded notebook that nbgrader stores, and what formgrader adds to it when it shows one.

Stored are the aligned answers, with scores as the test cells' outputs and the attempt in the notebook's
metadata. A submission without a notebook to grade gets the released cells, and a summary that says so.

Short feedback and mark schemes are made at the moment of showing: graded notebooks and students' pages hold
none. nbgrader_config.py names the preprocessor for the exporter that formgrader shows submissions with.
"""

import copy
from collections.abc import Set
from pathlib import Path
from typing import Any
from urllib.parse import quote

from nbconvert.preprocessors import Preprocessor
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_output
from nbgrader.utils import compute_checksum

from autograder.model.attempt import Attempt
from autograder.model.course import Course
from autograder.model.errors import AutograderError
from autograder.model.lesson_text import read_lesson
from autograder.model.report import ExerciseReport, Report
from autograder.model.text import visible
from autograder.reports.safe_html import LONGEST, inert
from autograder.reports.templating import render
from autograder.reports.words import (
    NO_SANDBOX,
    STATES,
    exercise_total,
    first_message,
    total_of_checks,
    wording,
)
from autograder.storage.recorder import attach_attempt, attached_attempt
from autograder.submissions.released import grade_id, graded_cells, is_graded, is_solution, metadata

SUMMARY = "autograder-summary"
MOST_CODE = 100_000  # characters of a cell that are shown
MOST_PROSE = 100_000  # characters of all prose that the student wrote
NOT_SHOWN = "<div>(This cell is not shown: the notebook holds too much text.)</div>"
Resources = dict[str, Any]  # nbconvert's, with formgrader's entries in it
OF_FORMGRADER = "submission_id"  # an entry that no other page is made with
TITLE = "**Mark scheme** (students don't see it)"


def graded_notebook(
    notebook: NotebookNode, attempt: Attempt, lesson_texts: Set[str] = frozenset()
) -> NotebookNode:
    """Return a copy of the aligned notebook with scores as outputs and no other outputs.

    All prose becomes inert, as formgrader shows it by nbconvert's own rules where it does not find this
    course's settings. `lesson_texts` are the cells of the released lesson, which stay as they are.
    """
    made, left = copy.deepcopy(notebook), MOST_PROSE
    for cell in made.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
            cell.source = _shown(cell.source)
        elif cell.source.strip() not in lesson_texts and not _is_unchanged(cell):
            left -= min(len(cell.source), LONGEST)
            cell.source = inert(cell.source) if left >= 0 else NOT_SHOWN
    made.cells.insert(0, _summary_cell(attempt))
    for exercise, cell in graded_cells(made):
        if cell.cell_type == "code":
            cell.outputs = [_output(attempt.report.exercise(exercise))]
    attach_attempt(made, attempt)
    return made


def in_one_line(report: Report) -> str:
    """Return for the instructor what a submission scored, or why nothing of it was graded."""
    return total_of_checks(report) if report.is_graded else STATES[report.state].explanation


def _output(exercise: ExerciseReport) -> NotebookNode:
    """Return the output of a test cell; a pending exercise gets one without a score.

    Source: nbgrader's `utils.determine_grade`, which reads the first `execute_result` of a test cell.
    """
    if exercise.is_pending:
        return new_output("display_data", {"text/plain": "not graded yet"})
    return new_output("execute_result", {"text/plain": repr(exercise.score)})


def _is_unchanged(cell: NotebookNode) -> bool:
    """Return whether a written answer is the skeleton: nbgrader gives it 0 points by the same test."""
    released = metadata(cell).get("checksum")
    return released is not None and released == compute_checksum(cell)


def _shown(code: str) -> str:
    """Return a cell's code without characters that hide or reorder it, cut to what a page can show."""
    rest = len(code) - MOST_CODE
    shown = visible(code[:MOST_CODE])
    return shown if rest <= 0 else f"{shown}\n# {rest} more characters are not shown"


def _summary_cell(attempt: Attempt) -> NotebookNode:
    text = in_one_line(attempt.report) + ("" if attempt.sandboxed else f"\n{NO_SANDBOX}")
    return new_code_cell("# Summary", id=SUMMARY, outputs=[new_output("display_data", {"text/plain": text})])


class FormgraderPage(Preprocessor):  # type: ignore[misc] # nbconvert has no type annotations
    """Shows feedback under each test cell and a mark scheme under each written answer, only in formgrader."""

    def preprocess(self, nb: NotebookNode, resources: Resources) -> tuple[NotebookNode, Resources]:
        """Return the notebook with both; without a lesson's text, it has no mark schemes."""
        if OF_FORMGRADER not in resources:
            return nb, resources
        try:
            course = Course.find(Path(resources["metadata"]["path"]))
            if attempt := attached_attempt(nb):
                _show_feedback(nb, attempt, _address(course, attempt, resources))
            _show_schemes(nb, course, resources["assignment_id"])
        except (AutograderError, OSError) as error:
            self.log.warning("no mark schemes on this page: %s", error)
        return nb, resources


def _address(course: Course, attempt: Attempt, resources: Resources) -> str:
    page = course.feedback_page(attempt.student, attempt.lesson)
    if not page.is_file():
        return ""
    notebook = course.autograded_notebook(attempt.student, attempt.lesson).relative_to(course.root)
    folder = str(resources.get("notebook_path", "")).removesuffix(notebook.as_posix())
    path = quote(folder + page.relative_to(course.root).as_posix())
    return f"{resources.get('base_url', '')}/files/{path}"


def _show_feedback(page: NotebookNode, attempt: Attempt, address: str) -> None:
    """Set the outputs of the summary and of the test cells: the score, the first message, and a link."""
    report = attempt.report
    shown = {
        "head": in_one_line(report),
        "message": report.reason,
        "address": address,
        "no_sandbox": "" if attempt.sandboxed else NO_SANDBOX,
    }
    _set_html(page.cells[0], is_summary=True, **shown)
    for name, cell in graded_cells(page):
        if cell.cell_type == "code" and report.is_graded:
            exercise = report.exercise(name)
            words = wording(exercise)
            shown |= {
                "head": f"{words.sign} {words.label.capitalize()} · {exercise_total(exercise)}",
                "message": first_message(exercise),
                "address": address and f"{address}#exercise-{quote(name)}",
            }
            _set_html(cell, is_summary=False, **shown)


def _set_html(cell: NotebookNode, **shown: object) -> None:
    for output in cell.outputs:
        output.data["text/html"] = render("formgrader.html.j2", **shown)


def _show_schemes(page: NotebookNode, course: Course, lesson: str) -> None:
    text, cells = read_lesson(course.text(lesson)), []
    schemes = {each.id: text.mark_scheme(each.id).strip() for each in text.exercises if each.written}
    for cell in page.cells:
        cells.append(cell)
        is_written = cell.cell_type == "markdown" and is_graded(cell) and is_solution(cell)
        if is_written and (scheme := schemes.get(grade_id(cell) or "")):
            cells.append(new_markdown_cell(f"{TITLE}\n\n{scheme}"))
    page.cells = cells
