"""The whole graded notebook as one page: the lesson's text, and the student's answers in frames."""

from collections.abc import Iterator
from dataclasses import dataclass

from markupsafe import Markup
from nbformat import NotebookNode

from autograder.reports.code_html import code_html
from autograder.reports.feedback_view import GradedWork, prose_html
from autograder.reports.student_pages import INDEX, render_page
from autograder.reports.words import NO_SANDBOX, exercise_total
from autograder.submissions.nbgrader_cells import grade_id, is_solution


@dataclass(frozen=True)
class CellView:
    """One cell: its HTML, and the exercise and its points if it is an answer."""

    html: Markup
    is_prose: bool
    exercise: str = ""
    total: str = ""

    @property
    def may_be_wide(self) -> bool:
        """Whether it may have to scroll sideways on a phone, and has to be reached with the keyboard."""
        wide = "<table" in self.html or "<math" in self.html or "<pre" in self.html
        return self.is_prose and wide


def notebook_page(work: GradedWork) -> str:
    """Return the page as HTML. It has no script, and shows no outputs: none were kept."""
    return render_page(
        "student_notebook.html.j2",
        titles=work.titles,
        cells=list(_cells(work)),
        page=f"{work.report.lesson}.html",
        index=f"../{INDEX}",
        no_sandbox="" if work.sandboxed else NO_SANDBOX,
    )


def _cells(work: GradedWork) -> Iterator[CellView]:
    """Yield the cells of a graded notebook but the first, which holds the summary."""
    totals = {each.id: exercise_total(each.score, each.points) for each in work.report.exercises}
    seen = set[str]()
    for cell in work.notebook.cells[1:]:
        name = grade_id(cell) or ""
        is_answer = is_solution(cell) and name in totals and name not in seen
        seen.add(name)
        exercise = name if is_answer else ""
        yield CellView(_html(cell), cell.cell_type != "code", exercise, totals.get(exercise, ""))


def _html(cell: NotebookNode) -> Markup:
    return code_html(cell.source) if cell.cell_type == "code" else prose_html(cell.source)
