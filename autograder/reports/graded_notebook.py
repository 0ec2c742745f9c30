"""The graded notebook as nbgrader needs it: the aligned answers, with scores as the test cells' outputs.

The attempt itself is stored in the notebook's metadata: the student's pages and formgrader's feedback are
made from it. A submission without a notebook to grade gets the released cells, and a summary that says so.
"""

import copy
from collections.abc import Set

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_output
from nbgrader.utils import compute_checksum

from autograder.model.report import ExerciseReport, Report
from autograder.model.text import visible
from autograder.reports.safe_html import LONGEST, inert
from autograder.reports.words import NO_SANDBOX, STATES, report_total
from autograder.storage.attempts import Attempt
from autograder.storage.recorder import attach_attempt
from autograder.submissions.released import graded_cells, metadata

SUMMARY = "autograder-summary"
MOST_CODE = 100_000  # characters of a cell that are shown
MOST_PROSE = 100_000  # characters of all prose that the student wrote
NOT_SHOWN = "<div>(This cell is not shown: the notebook holds too much text.)</div>"


def graded_page(
    notebook: NotebookNode, attempt: Attempt, lesson_texts: Set[str] = frozenset()
) -> NotebookNode:
    """Return a copy of the aligned notebook with scores as outputs and no other outputs.

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
    page.cells.insert(0, _summary_cell(page, attempt))
    for exercise, cell in graded_cells(page):
        if cell.cell_type == "code":
            cell.outputs = [_output(attempt.report.exercise(exercise))]
    attach_attempt(page, attempt)
    return page


def in_one_line(report: Report) -> str:
    """Return for the instructor what a submission scored, or why nothing of it was graded."""
    return report_total(report) if report.is_graded else STATES[report.state].explanation


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


def _summary_cell(page: NotebookNode, attempt: Attempt) -> NotebookNode:
    taken = {cell.get("id") for cell in page.cells}
    name = SUMMARY
    while name in taken:
        name += "-"
    text = in_one_line(attempt.report) + ("" if attempt.sandboxed else f"\n{NO_SANDBOX}")
    return new_code_cell("# Summary", id=name, outputs=[new_output("display_data", {"text/plain": text})])
