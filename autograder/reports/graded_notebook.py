"""The graded notebook: the aligned answers, with feedback as the cells' outputs.

Each test cell gets one output. nbgrader reads its plain text as the score, and the formgrader shows its
HTML. The attempt itself is stored in the notebook's metadata, and the student's pages are made from it. A
submission without a notebook to grade gets the released cells, with a summary that says so and no
feedback below it.
"""

import copy
from collections.abc import Set

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_output
from nbgrader.utils import compute_checksum

from autograder.model.report import ExerciseReport, Report
from autograder.model.text import visible
from autograder.reports.feedback import exercise_feedback, summary
from autograder.reports.safe_html import LONGEST, inert
from autograder.storage.attempts import Attempt
from autograder.storage.autograded import attach_attempt
from autograder.submissions.nbgrader_cells import graded_cells, metadata

SUMMARY = "autograder-summary"
MOST_CODE = 100_000  # characters of a cell that are shown
MOST_PROSE = 100_000  # characters of all prose that the student wrote
NOT_SHOWN = "<div>(This cell is not shown: the notebook holds too much text.)</div>"
# the formgrader lets wide pictures overflow and puts no space between a table's columns
STYLE = (
    "<style>#notebook img{max-width:100%;height:auto}"
    ".rendered_html td,.rendered_html th{padding:.2em .6em}</style>"
)


def graded_page(
    notebook: NotebookNode, attempt: Attempt, lesson_texts: Set[str] = frozenset()
) -> NotebookNode:
    """Return a copy of the aligned notebook with feedback as outputs and no other outputs.

    All prose becomes inert, as formgrader shows it by nbconvert's own rules where it does not find this
    course's settings. `lesson_texts` are the cells of the released lesson, which stay as they are.
    """
    page, left = copy.deepcopy(notebook), MOST_PROSE
    for cell in page.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
            cell.source = _shown(cell.source)
        elif cell.source.strip() not in lesson_texts and not _is_unchanged(cell):
            left -= min(len(cell.source), LONGEST)
            cell.source = inert(cell.source) if left >= 0 else NOT_SHOWN
    page.cells.insert(0, _summary_cell(page))
    _show_feedback(page, attempt.report, sandboxed=attempt.sandboxed)
    attach_attempt(page, attempt)
    return page


def _show_feedback(page: NotebookNode, report: Report, *, sandboxed: bool) -> None:
    """Set the outputs of a page, whose first cell is the summary, to the feedback of a report.

    A pending exercise gets an output without a score. Source: nbgrader's `utils.determine_grade`,
    which reads the first `execute_result` of a test cell.
    """
    html = STYLE + summary(report, sandboxed=sandboxed)
    data = {"text/html": html, "text/plain": "Summary"}
    page.cells[0].outputs = [new_output("display_data", data)]
    for exercise, cell in graded_cells(page):
        if cell.cell_type == "code":
            done = report.exercise(exercise)
            html = exercise_feedback(done, sandboxed=sandboxed) if report.is_graded else ""
            cell.outputs = [_output(done, html)]


def _output(report: ExerciseReport, html: str) -> NotebookNode:
    if report.is_pending:
        return new_output("display_data", {"text/html": html, "text/plain": "not graded yet"})
    return new_output("execute_result", {"text/html": html, "text/plain": repr(report.score)})


def _is_unchanged(cell: NotebookNode) -> bool:
    """Return whether a written answer is the skeleton: nbgrader gives it 0 points by the same test."""
    released = metadata(cell).get("checksum")
    return released is not None and released == compute_checksum(cell)


def _shown(code: str) -> str:
    """Return a cell's code without characters that hide or reorder it, cut to what a page can show."""
    rest = len(code) - MOST_CODE
    shown = visible(code[:MOST_CODE])
    return shown if rest <= 0 else f"{shown}\n# {rest} more characters are not shown"


def _summary_cell(page: NotebookNode) -> NotebookNode:
    """Return a cell for the summary, an output: nbconvert would change HTML in a markdown cell."""
    taken = {cell.get("id") for cell in page.cells}
    name = SUMMARY
    while name in taken:
        name += "-"
    return new_code_cell("# Summary", id=name)
