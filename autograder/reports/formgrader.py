"""What formgrader adds to a graded notebook when it shows one: short feedback, and mark schemes.

nbgrader_config.py names the preprocessor for the exporter that formgrader shows submissions with. All of it
is made from the attempt and the lesson's text at that moment: graded notebooks and students' pages hold none.
"""

from pathlib import Path
from typing import Any
from urllib.parse import quote

from nbconvert.preprocessors import Preprocessor
from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell

from autograder.model.course import Course
from autograder.model.errors import AutograderError
from autograder.model.lesson_text import read_lesson
from autograder.reports.graded_notebook import in_one_line
from autograder.reports.templating import render
from autograder.reports.words import NO_SANDBOX, exercise_total, first_message, wording
from autograder.storage.attempts import Attempt
from autograder.storage.recorder import attached_attempt
from autograder.submissions.released import grade_id, graded_cells, is_graded, is_solution

Resources = dict[str, Any]  # nbconvert's, with formgrader's entries in it
OF_FORMGRADER = "submission_id"  # an entry that no other page is made with
TITLE = "**Mark scheme** (students don't see it)"


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
    """Return the address of the student's feedback page on Jupyter's server; empty if there is none yet."""
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
    """Insert the mark scheme after each written answer."""
    text, cells = read_lesson(course.text(lesson)), []
    schemes = {each.id: text.mark_scheme(each.id).strip() for each in text.exercises if each.written}
    for cell in page.cells:
        cells.append(cell)
        is_written = cell.cell_type == "markdown" and is_graded(cell) and is_solution(cell)
        if is_written and (scheme := schemes.get(grade_id(cell) or "")):
            cells.append(new_markdown_cell(f"{TITLE}\n\n{scheme}"))
    page.cells = cells
