"""A marked notebook: the aligned answers with the explanations in the places nbgrader shows.

A test cell gets one output, whose plain text nbgrader reads as the score and whose HTML it shows
on the feedback page. The attempt itself travels in the notebook's metadata.
"""

import copy
import hashlib
from collections.abc import Iterator

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_output

from autograder.record.attempts import Attempt
from autograder.reports.feedback import explain, preface
from autograder.results import ExerciseReport, Report

KEY = "autograder"
TEST = "-test"
PREFACE = "autograder-preface"
# nbgrader's page lets wide pictures run out of it and sets a table's columns edge to edge
FIT = (
    "<style>#notebook img{max-width:100%;height:auto}"
    ".rendered_html td,.rendered_html th{padding:.2em .6em}</style>"
)


def marked_page(notebook: NotebookNode, attempt: Attempt) -> NotebookNode:
    """Return a copy of the aligned notebook with explanations as outputs and no other outputs.

    An exercise whose score waits for a person gets an output without a score. Source: nbgrader's
    `utils.determine_grade`, which reads the first `execute_result` of a test cell.
    """
    page = copy.deepcopy(notebook)
    reports = {report.id: report for report in attempt.report.exercises}
    for cell in page.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = _outputs(cell, reports, attempt.sandboxed), None
    _put_preface(page, attempt)
    page.metadata[KEY] = attempt.model_dump(mode="json")
    return page


def attempt_of(page: NotebookNode) -> Attempt | None:
    """Return the attempt a marked notebook tells of, or None if it was not marked by us."""
    stored = page.metadata.get(KEY)
    return Attempt.model_validate(stored) if stored is not None else None


def answer_digests(notebook: NotebookNode, report: Report) -> dict[str, str]:
    """Return the SHA-256 of each exercise's answer in an aligned notebook, by exercise id."""
    known = {exercise.id for exercise in report.exercises}
    return {
        grade_id: hashlib.sha256(cell.source.encode()).hexdigest()
        for grade_id, cell in graded_cells(notebook)
        if cell.metadata.nbgrader.get("solution") and grade_id in known
    }


def exercise_of(grade_id: str) -> str:
    """Return the id of the exercise that a cell of this grade_id belongs to."""
    return grade_id.removesuffix(TEST)


def graded_cells(notebook: NotebookNode) -> Iterator[tuple[str, NotebookNode]]:
    """Yield grade_id and cell of every cell that nbgrader knows as a grade or a solution."""
    for cell in notebook.cells:
        settings = cell.metadata.get("nbgrader", {})
        if settings.get("grade") or settings.get("solution"):
            yield settings["grade_id"], cell


def _outputs(
    cell: NotebookNode, reports: dict[str, ExerciseReport], sandboxed: bool
) -> list[NotebookNode]:
    settings = cell.metadata.get("nbgrader", {})
    if not settings.get("grade"):
        return []
    report = reports[exercise_of(settings["grade_id"])]
    html = explain(report, sandboxed=sandboxed)
    if report.score is None:
        return [new_output("display_data", {"text/html": html, "text/plain": "not marked yet"})]
    return [new_output("execute_result", {"text/html": html, "text/plain": repr(report.score)})]


def _put_preface(page: NotebookNode, attempt: Attempt) -> None:
    """Put repairs and incidents on top, in an output: markdown would take its HTML apart."""
    html = FIT + preface(attempt.report, sandboxed=attempt.sandboxed)
    taken = {cell.get("id") for cell in page.cells}
    name = PREFACE
    while name in taken:
        name += "-"
    output = new_output("display_data", {"text/html": html, "text/plain": "About this marking"})
    page.cells.insert(0, new_code_cell("# About this marking", id=name, outputs=[output]))
