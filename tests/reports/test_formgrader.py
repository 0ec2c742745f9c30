"""Formgrader shows short feedback and mark schemes, made as it opens a page; students get no mark scheme."""

import random
import runpy
from pathlib import Path

import pytest
from nbconvert.exporters import HTMLExporter
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from tiny_course import LESSON, FakeGrader, hand_in
from tiny_fixtures import built, course, same_grader  # noqa: F401 - fixtures
from traitlets.config import Config

from autograder.grading.grade_submission import grade_submission
from autograder.model.course import CONFIG, Course
from autograder.model.report import CheckReport, ExerciseReport, NamedMistake, Outcome, Report
from autograder.reports.feedback_exporter import make_pages
from autograder.reports.formgrader import FormgraderPage, graded_notebook
from autograder.reports.words import NO_SANDBOX, STRETCH, WORDING
from autograder.storage.recorder import Recorder
from autograder.submissions.submission import Submission

from .hostile import HANDLER, Tags, hostile_report
from .sample_class import exercise, report
from .sample_work import MIDDLING, UNREADABLE, attempt

SCHEME = "an inverse is named"
OF_FORMGRADER = {"assignment_id": LESSON, "submission_id": "1"}
PLACE = {"base_url": "/user/ada", "notebook_path": f"course/autograded/alice/{LESSON}/{LESSON}.ipynb"}
HOME = Path(__file__).parents[2]
FAILED = ExerciseReport(
    id="softmax",
    points=3,
    score=0.5,
    outcome=Outcome.FAILED,
    checks=[
        CheckReport(id="a", title="Rows add up to 1", passed=True),
        CheckReport(id="b", title="Any `dim` works", passed=False, message="off by `2`"),
    ],
)
pytestmark = pytest.mark.usefixtures("same_grader")


def shown(made: Report, *, sandboxed: bool = True) -> list[str]:
    """Return what formgrader shows of a report: the summary, then each test cell."""
    cells = [
        new_code_cell("grade()", metadata={"nbgrader": {"grade_id": f"{each.id}-test", "grade": True}})
        for each in made.exercises
    ]
    given = attempt(made, "a").model_copy(update={"sandboxed": sandboxed})
    page = graded_notebook(new_notebook(cells=cells), given)
    resources = OF_FORMGRADER | {"assignment_id": made.lesson, "metadata": {"path": str(HOME)}}
    made_page, _ = FormgraderPage().preprocess(page, resources)
    return [cell.outputs[0].data.get("text/html", "") for cell in made_page.cells]


@pytest.mark.parametrize("outcome", Outcome)
def test_a_cell_says_the_outcome_and_the_score(outcome: Outcome) -> None:
    """The score is the report's own; what is pending is no zero."""
    _, cell = shown(report([exercise("softmax", outcome, random.Random(1))]))
    text = Tags(cell).text
    assert WORDING[outcome].label in text.lower()
    assert ("2 points pending" in text) == outcome.is_pending
    assert "2 points" in text
    assert "0 of 2 points" not in text or not outcome.is_pending


def test_a_cell_gives_the_first_message_alone() -> None:
    """A known mistake if there is one, else the first message; what passed has none."""
    assert "off by <code>2</code>" in shown(report([FAILED]))[1]
    mistakes = [NamedMistake(id=name, title=name, hint="hint") for name in ("No shift", "No sum")]
    text = shown(report([FAILED.model_copy(update={"misconceptions": mistakes})]))[1]
    assert "0.5 of 3 points" in text
    assert "No shift" in text
    assert not [word for word in ("No sum", "hint", "off by", "Rows add up") if word in text]
    right = Tags(shown(report([exercise("softmax", Outcome.PASSED, random.Random(1))]))[1]).text
    assert right.strip() == "✓ Correct · 2 of 2 points"


def test_a_stretch_exercise_is_not_counted() -> None:
    """In place of "0 of 0 points"."""
    stretch = ExerciseReport(id="attention-cost", points=0, score=0, outcome=Outcome.PASSED)
    text = shown(report([stretch]))[1]
    assert STRETCH in text
    assert "0 of 0" not in text


def test_the_summary_is_one_line() -> None:
    """The score; or why nothing was graded, and then the test cells say nothing."""
    assert "2.5 of 8 points, without what is graded by hand" in shown(MIDDLING)[0]
    summary, *cells = shown(UNREADABLE)
    assert "nothing was graded" in summary
    assert "x.ipynb is not a notebook" in summary
    assert set(cells) == {""}


def test_hostile_text_stays_text() -> None:
    """No element, handler or terminal code of a submission reaches the page, and nothing is loaded."""
    page = "".join(shown(hostile_report(), sandboxed=False))
    tags = Tags(page)
    assert set(tags.names) <= {"style", "div", "p", "strong", "code"}
    assert tags.names.count("style") == 1
    assert set(tags.attributes) <= {"class", "lang"}
    assert "<script>alert(1)</script>" in tags.text
    assert HANDLER not in page
    assert "{{ 7*7 }}" in tags.text
    assert not [word for word in ("\x1b", "url(", "@import") if word in page]
    page.encode()


def test_a_missing_sandbox_is_announced() -> None:
    """The summary says so without a sandbox, whatever the state, and only then."""
    for made in (MIDDLING, UNREADABLE):
        for sandboxed in (True, False):
            assert (NO_SANDBOX in Tags(shown(made, sandboxed=sandboxed)[0]).text) is not sandboxed


@pytest.fixture
def graded(course: Course) -> Path:
    """Grade and record one submission; give the path of the graded notebook."""
    hand_in(course, "alice", double="# wrong", why="Because. $d_k$")
    submission = Submission(course, "alice", LESSON, "v")
    attempt, notebook = grade_submission(FakeGrader(course), submission, sandboxed=True)
    with Recorder(course) as recorder:
        recorder.record(attempt, graded_notebook(notebook, attempt))
    return course.autograded_notebook("alice", LESSON)


def page(course: Course, graded: Path, resources: dict[str, str]) -> str:
    """Make a page with the course's own settings, as formgrader does."""
    settings = Config()
    runpy.run_path(str(course.root / CONFIG), {"get_config": lambda: settings})
    html, _ = HTMLExporter(config=settings, template_name="classic").from_filename(str(graded), dict(resources))
    return str(html)


def test_nbconvert_shows_the_feedback_and_only_in_formgrader(course: Course, graded: Path) -> None:
    """The graded notebook itself holds scores alone."""
    html = page(course, graded, OF_FORMGRADER)
    assert "<strong>✗ Not correct yet · 0 of 8 points</strong>: It gave 5, not 6." in html
    assert "0 of 8 points" not in page(course, graded, {})
    assert "text/html" not in graded.read_text(encoding="utf-8")


def test_it_links_to_the_students_page_once_that_is_there(course: Course, graded: Path) -> None:
    """At Jupyter's own address of the file, wherever JupyterLab was started, at the exercise."""
    before = page(course, graded, OF_FORMGRADER | PLACE)
    assert "There is no feedback page yet" in before
    assert make_pages(course, LESSON, ["alice"]) == {}
    address = f"/user/ada/files/course/feedback/alice/{LESSON}/{LESSON}.html"
    links = Tags(page(course, graded, OF_FORMGRADER | PLACE)).links
    assert [link for link in links if "/files/" in link] == [
        address,
        f"{address}#exercise-double",
        f"{address}#exercise-halve",
    ]


def test_a_mark_scheme_stands_under_the_answer(course: Course, graded: Path) -> None:
    """Once, after what the student wrote and after no other answer."""
    html = page(course, graded, OF_FORMGRADER)
    assert html.count(SCHEME) == 1
    assert html.index("Because.") < html.index("Mark scheme") < html.index(SCHEME)


def test_formulas_need_no_network(course: Course, graded: Path) -> None:
    """Formgrader's page asks for MathJax, which an instructor's machine may not reach."""
    assert "<msub><mi>d</mi><mi>k</mi></msub>" in page(course, graded, OF_FORMGRADER)


def test_a_page_that_is_not_formgraders_has_no_mark_scheme(course: Course, graded: Path) -> None:
    """Neither another page with the same settings, nor the graded notebook, nor what students get."""
    assert "Because." in page(course, graded, {})
    assert SCHEME not in page(course, graded, {})
    assert SCHEME not in graded.read_text(encoding="utf-8")
    assert make_pages(course, LESSON, ["alice"]) == {}
    pages = list((course.feedback / "alice").rglob("*.html"))
    assert pages
    assert not [path.name for path in pages if SCHEME in path.read_text(encoding="utf-8")]


def test_other_cells_get_none_and_no_text_is_needed(course: Course, graded: Path) -> None:
    """A cell that nbgrader doesn't grade stays alone. Without the lesson's text, the page still opens."""
    own = NotebookNode(cells=[new_markdown_cell("# %% written why 2")], metadata=NotebookNode())
    place = {"metadata": {"path": str(graded.parent)}}
    shown, _ = FormgraderPage().preprocess(own, OF_FORMGRADER | place)
    assert len(shown.cells) == 1
    course.text(LESSON).unlink()
    assert "Because." in page(course, graded, OF_FORMGRADER)
