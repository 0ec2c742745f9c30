"""A marked notebook gives nbgrader exactly the report's scores, and shows the explanations."""

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_output
from nbgrader.utils import determine_grade, is_grade

from autograder.course import Course
from autograder.record.handed import Handed
from autograder.record.marking import mark
from autograder.record.pages import PREFACE, attempt_of, exercise_of, marked_page
from autograder.results import Outcome

from .tiny_course import LESSON, RIGHT, FakeMarker, hand_in


def page(course: Course, **answers: str) -> nbformat.NotebookNode:
    """Hand in, mark, and return the page."""
    hand_in(course, "alice", **answers)
    attempt, notebook = mark(
        FakeMarker(course), Handed(course, "alice", LESSON, "v"), sandboxed=True
    )
    return marked_page(notebook, attempt)


@pytest.mark.parametrize(
    "answers",
    [{}, RIGHT, {"double": "# half"}, {"double": "# wrong", "why": "So."}, {"halve": "# half"}],
)
def test_nbgrader_reads_the_reports_scores(course: Course, answers: dict[str, str]) -> None:
    """For every exercise without a fault, determine_grade gives the report's score."""
    made = page(course, **answers)
    attempt = attempt_of(made)
    assert attempt is not None
    read = {
        exercise_of(cell.metadata.nbgrader.grade_id): determine_grade(cell)[0]
        for cell in made.cells
        if is_grade(cell)
    }
    assert read == {done.id: done.score for done in attempt.report.exercises}


def test_a_fault_has_an_explanation_and_no_score(course: Course) -> None:
    """The output of an exercise that waits is shown, but is no result nbgrader could read."""
    made = page(course, double="# fault")
    cell = next(
        c for c in made.cells if c.metadata.get("nbgrader", {}).get("grade_id") == "double-test"
    )
    assert [output.output_type for output in cell.outputs] == ["display_data"]
    assert "text/html" in cell.outputs[0].data


def test_the_explanation_is_escaped_and_names_the_check(course: Course) -> None:
    """The test cell shows the check's title, its markup made harmless."""
    made = page(course, double="# wrong")
    cell = next(
        c for c in made.cells if c.metadata.get("nbgrader", {}).get("grade_id") == "double-test"
    )
    html = cell.outputs[0].data["text/html"]
    assert "It gives the right &lt;numbers&gt;" in html
    assert "It gave 5, not 6." in html


def test_a_students_own_outputs_are_dropped(course: Course) -> None:
    """Outputs of other cells, with whatever script is in them, do not reach a page."""
    hand_in(course, "alice", **RIGHT)
    attempt, notebook = mark(
        FakeMarker(course), Handed(course, "alice", LESSON, "v"), sandboxed=True
    )
    script = new_output("display_data", {"text/html": "<script>steal()</script>"})
    notebook.cells.append(new_code_cell("mine", id=PREFACE, outputs=[script]))
    made = marked_page(notebook, attempt)
    assert "steal" not in nbformat.writes(made)
    assert "steal" in nbformat.writes(notebook)  # the aligned notebook is left as it was
    ids = [cell.id for cell in made.cells]
    assert len(ids) == len(set(ids))
    nbformat.validate(made)


def test_the_attempt_travels_with_the_page(course: Course) -> None:
    """Written and read back, the page still tells of the same attempt."""
    made = page(course, **RIGHT)
    again = nbformat.reads(nbformat.writes(made), as_version=4)
    attempt = attempt_of(again)
    assert attempt == attempt_of(made)
    assert attempt is not None
    assert attempt.report.exercise("why").outcome is Outcome.NEEDS_MARKING
    assert attempt_of(nbformat.v4.new_notebook()) is None


def test_repairs_come_first(course: Course) -> None:
    """What was mended is told at the top of the page."""
    hand_in(course, "alice").write_text("{", encoding="utf-8")
    attempt, notebook = mark(
        FakeMarker(course), Handed(course, "alice", LESSON, "v"), sandboxed=False
    )
    made = marked_page(notebook, attempt)
    assert "is not a notebook" in made.cells[0].outputs[0].data["text/html"]
