"""The page of a graded submission: the aligned answers, with feedback as the cells' outputs.

Each test cell gets one output. nbgrader reads its plain text as the score and shows its HTML on the
feedback page. The attempt itself is stored in the notebook's metadata. A submission without a notebook
to grade gets the released cells, with a summary that says so and no feedback below it.
"""

import copy

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_output

from autograder.model.report import ExerciseReport, Report
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
    """Return a copy of the aligned notebook with feedback as outputs and no other outputs."""
    page = copy.deepcopy(notebook)
    for cell in page.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    page.cells.insert(0, _summary_cell(page))
    show_feedback(page, attempt.report, sandboxed=attempt.sandboxed)
    attach_attempt(page, attempt)
    return page


def show_feedback(page: NotebookNode, report: Report, *, sandboxed: bool) -> None:
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


def _summary_cell(page: NotebookNode) -> NotebookNode:
    """Return a cell for the summary, an output: nbconvert would change HTML in a markdown cell."""
    taken = {cell.get("id") for cell in page.cells}
    name = SUMMARY
    while name in taken:
        name += "-"
    return new_code_cell("# Summary", id=name)
