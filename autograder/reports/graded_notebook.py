"""The page of a graded submission: the aligned answers, with feedback as the cells' outputs.

Each test cell gets one output. nbgrader reads its plain text as the score and shows its HTML on the
feedback page. The attempt itself is stored in the notebook's metadata.
"""

import copy

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_output

from autograder.model.report import ExerciseReport
from autograder.reports.feedback import exercise_feedback, summary
from autograder.storage.attempts import Attempt
from autograder.storage.autograded import attach_attempt
from autograder.submissions.nbgrader_cells import graded_cells

SUMMARY = "autograder-summary"
# nbgrader's page lets wide pictures overflow and puts no space between a table's columns
STYLE = (
    "<style>#notebook img{max-width:100%;height:auto}"
    ".rendered_html td,.rendered_html th{padding:.2em .6em}</style>"
)


def graded_page(notebook: NotebookNode, attempt: Attempt) -> NotebookNode:
    """Return a copy of the aligned notebook with feedback as outputs and no other outputs.

    An exercise whose score is open gets an output without a score. Source: nbgrader's
    `utils.determine_grade`, which reads the first `execute_result` of a test cell.
    """
    page = copy.deepcopy(notebook)
    for cell in page.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    for exercise, cell in graded_cells(page):
        if cell.cell_type == "code":
            cell.outputs = [_output(attempt.report.exercise(exercise), attempt.sandboxed)]
    _insert_summary(page, attempt)
    attach_attempt(page, attempt)
    return page


def _output(report: ExerciseReport, sandboxed: bool) -> NotebookNode:
    html = exercise_feedback(report, sandboxed=sandboxed)
    if report.score is None:
        return new_output("display_data", {"text/html": html, "text/plain": "not graded yet"})
    return new_output("execute_result", {"text/html": html, "text/plain": repr(report.score)})


def _insert_summary(page: NotebookNode, attempt: Attempt) -> None:
    """Put the summary on top, as an output: nbconvert would change its HTML in a markdown cell."""
    html = STYLE + summary(attempt.report, sandboxed=attempt.sandboxed)
    taken = {cell.get("id") for cell in page.cells}
    name = SUMMARY
    while name in taken:
        name += "-"
    output = new_output("display_data", {"text/html": html, "text/plain": "Summary"})
    page.cells.insert(0, new_code_cell("# Summary", id=name, outputs=[output]))
