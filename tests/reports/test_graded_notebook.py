"""nbgrader reads the report's scores from a graded notebook, which holds nothing else of the grading."""

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_output
from nbgrader.utils import determine_grade, is_grade
from tiny_course import LESSON, RIGHT, FakeGrader, hand_in

from autograder.grading.grade_submission import grade_submission
from autograder.model.course import Course
from autograder.model.report import Outcome
from autograder.reports.formgrader import graded_notebook
from autograder.reports.words import NO_SANDBOX
from autograder.storage.recorder import attached_attempt
from autograder.submissions.released import exercise_of
from autograder.submissions.submission import Submission


def page(course: Course, **answers: str) -> nbformat.NotebookNode:
    """Hand in, grade, and return the page."""
    hand_in(course, "alice", **answers)
    attempt, notebook = grade_submission(
        FakeGrader(course), Submission(course, "alice", LESSON, "v"), sandboxed=True
    )
    return graded_notebook(notebook, attempt)


@pytest.mark.parametrize(
    "answers",
    [{}, RIGHT, {"double": "# half"}, {"double": "# wrong", "why": "So."}, {"halve": "# half"}],
)
def test_nbgrader_reads_the_reports_scores(course: Course, answers: dict[str, str]) -> None:
    """determine_grade gives the report's score for every exercise without a grader error."""
    made = page(course, **answers)
    attempt = attached_attempt(made)
    assert attempt is not None
    read = {
        exercise_of(cell.metadata.nbgrader.grade_id): determine_grade(cell)[0]
        for cell in made.cells
        if is_grade(cell)
    }
    assert read == {done.id: done.score for done in attempt.report.exercises}


def test_a_grader_error_has_no_score(course: Course) -> None:
    """The output of an open exercise says so, and nbgrader reads no score from it."""
    made = page(course, double="# fault")
    cell = next(c for c in made.cells if c.metadata.get("nbgrader", {}).get("grade_id") == "double-test")
    assert [output.output_type for output in cell.outputs] == ["display_data"]
    assert cell.outputs[0].data == {"text/plain": "not graded yet"}


def test_a_students_own_outputs_are_dropped(course: Course) -> None:
    """Outputs of other cells, and scripts in them, don't reach the page."""
    hand_in(course, "alice", **RIGHT)
    attempt, notebook = grade_submission(
        FakeGrader(course), Submission(course, "alice", LESSON, "v"), sandboxed=True
    )
    script = new_output("display_data", {"text/html": "<script>steal()</script>"})
    notebook.cells.append(new_code_cell("mine", outputs=[script]))
    made = graded_notebook(notebook, attempt)
    assert "steal" not in nbformat.writes(made)
    assert "steal" in nbformat.writes(notebook)  # the aligned notebook is unchanged
    ids = [cell.id for cell in made.cells]
    assert len(ids) == len(set(ids))
    nbformat.validate(made)


def test_the_attempt_travels_with_the_page(course: Course) -> None:
    """A page that is written and read back still holds the same attempt."""
    made = page(course, **RIGHT)
    again = nbformat.reads(nbformat.writes(made), as_version=4)
    attempt = attached_attempt(again)
    assert attempt == attached_attempt(made)
    assert attempt is not None
    assert attempt.report.exercise("why").outcome is Outcome.BY_HAND
    assert attached_attempt(nbformat.v4.new_notebook()) is None


def test_the_summary_says_what_was_graded_and_without_a_sandbox(course: Course) -> None:
    """One line, without formgrader too."""
    assert page(course, **RIGHT).cells[0].outputs[0].data == {"text/plain": "18 of 18 points, without what is graded by hand"}
    hand_in(course, "alice").write_text("{", encoding="utf-8")
    attempt, notebook = grade_submission(
        FakeGrader(course), Submission(course, "alice", LESSON, "v"), sandboxed=False
    )
    said = graded_notebook(notebook, attempt).cells[0].outputs[0].data["text/plain"]
    assert said.startswith("The file could not be opened")
    assert NO_SANDBOX in said
