"""Formgrader shows the mark scheme under each written answer; nothing that students get has it."""

import runpy
from pathlib import Path

import pytest
from nbconvert.exporters import HTMLExporter
from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell
from tiny_course import LESSON, FakeGrader, hand_in
from tiny_fixtures import built, course, same_grader  # noqa: F401 - fixtures
from traitlets.config import Config

from autograder.grading.grade_submission import grade_submission
from autograder.model.course import CONFIG, Course
from autograder.reports.feedback_pages import generate
from autograder.reports.graded_notebook import graded_page
from autograder.reports.mark_schemes import ShowMarkSchemes
from autograder.storage.recorder import Recorder
from autograder.submissions.submission import Submission

SCHEME = "an inverse is named"
OF_FORMGRADER = {"assignment_id": LESSON, "submission_id": "1"}
pytestmark = pytest.mark.usefixtures("same_grader")


@pytest.fixture
def graded(course: Course) -> Path:
    """Grade and record one submission; give the path of the graded notebook."""
    hand_in(course, "alice", why="Because. $d_k$")
    submission = Submission(course, "alice", LESSON, "v")
    attempt, notebook = grade_submission(FakeGrader(course), submission, sandboxed=True)
    with Recorder(course) as recorder:
        recorder.keep(attempt, graded_page(notebook, attempt))
    return course.autograded_notebook("alice", LESSON)


def page(course: Course, graded: Path, resources: dict[str, str]) -> str:
    """Make a page with the course's own settings, as formgrader does."""
    settings = Config()
    runpy.run_path(str(course.root / CONFIG), {"get_config": lambda: settings})
    html, _ = HTMLExporter(config=settings, template_name="basic").from_filename(str(graded), dict(resources))
    return str(html)


def test_it_stands_under_the_answer(course: Course, graded: Path) -> None:
    """Once, after what the student wrote and after no other answer."""
    html = page(course, graded, OF_FORMGRADER)
    assert html.count(SCHEME) == 1
    assert html.index("Because.") < html.index("Mark scheme") < html.index(SCHEME)


def test_formulas_need_no_network(course: Course, graded: Path) -> None:
    """Formgrader's page asks for MathJax, which an instructor's machine may not reach."""
    assert "<msub><mi>d</mi><mi>k</mi></msub>" in page(course, graded, OF_FORMGRADER)


def test_a_page_that_is_not_formgraders_has_none(course: Course, graded: Path) -> None:
    """Neither another page with the same settings, nor the graded notebook, nor what students get."""
    assert "Because." in page(course, graded, {})
    assert SCHEME not in page(course, graded, {})
    assert SCHEME not in graded.read_text(encoding="utf-8")
    assert generate(course, LESSON, ["alice"]) == {}
    pages = list((course.feedback / "alice").rglob("*.html"))
    assert pages
    assert not [path.name for path in pages if SCHEME in path.read_text(encoding="utf-8")]


def test_other_cells_get_none_and_no_text_is_needed(course: Course, graded: Path) -> None:
    """A cell that nbgrader doesn't grade stays alone. Without the lesson's text, the page still opens."""
    own = NotebookNode(cells=[new_markdown_cell("# %% written why 2")], metadata=NotebookNode())
    place = {"metadata": {"path": str(graded.parent)}}
    shown, _ = ShowMarkSchemes().preprocess(own, OF_FORMGRADER | place)
    assert len(shown.cells) == 1
    course.text(LESSON).unlink()
    assert "Because." in page(course, graded, OF_FORMGRADER)
