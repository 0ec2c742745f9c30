"""Graded submissions as feedback pages show them: perfect, middling, empty, unreadable, and hostile."""

from datetime import UTC, datetime

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from autograder.model.attempt import Attempt
from autograder.model.report import (
    CheckReport,
    ExampleReport,
    ExerciseReport,
    NamedMistake,
    Outcome,
    Report,
    State,
)
from autograder.reports.student_pages import GradedWork, Titles, steps

from .hostile import NASTY, hostile_report
from .sample_class import LESSON, report

CODE = "def softmax(x, dim=-1):\n    weights = x.exp()\n    return weights / weigths.sum(dim)\n"
WORDS = "The factor is $1/\\sqrt{d_k}$, since the variance grows with `d_k`."
DRAWING = (
    '<svg role="img" aria-label="{label}" width="20" height="20" viewBox="-1 -1 20 20" style="max-width:100%">\n'
    '<rect x="0.5" y="0.5" width="17" height="17" fill="#0072B2" fill-opacity="{opacity}" stroke="#d55e00"/>\n</svg>'
)
DRAWINGS = DRAWING.format(label="yours", opacity=1) + DRAWING.format(label="expected", opacity=0)
WIDE_ROW = "| " + " | ".join(f"a_column_of_its_own_{n}" for n in range(9)) + " |\n"
LESSON_TEXT = f"# 3 · Attention\n\nScale by $\\sqrt{{d_k}}$.\n\n{WIDE_ROW}{'|---' * 9}|\n{WIDE_ROW}"
IDS = ("softmax", "attention-scores", "causal-mask", "padding-mask", "why")
TITLES = Titles(
    "3 · Attention",
    {name: f"Exercise {number}: `{name}`" for number, name in enumerate(IDS, start=1)},
)


def notebook(code: str = CODE, words: str = WORDS) -> NotebookNode:
    """Return a graded notebook: the summary, the lesson's text, and an answer to each exercise."""
    cells = [new_code_cell("# Summary"), new_markdown_cell(LESSON_TEXT)]
    for name in IDS:
        make, source = (new_markdown_cell, words) if name == "why" else (new_code_cell, code)
        about = {"grade_id": name, "solution": True, "grade": name == "why", "points": 2}
        cells.append(make(source, metadata={"nbgrader": about}))
    return new_notebook(cells=cells)


def done(name: str, outcome: Outcome, score: float | None, **more: object) -> ExerciseReport:
    """Return the report of an exercise of two points."""
    return ExerciseReport(id=name, points=2, score=score, outcome=outcome, **more)


def check(title: str, message: str = "", *, passed: bool = False) -> CheckReport:
    """Return a check whose title is its id."""
    return CheckReport(id=title, title=title, passed=passed, message=message)


RIGHT = [check("Rows add up to 1", passed=True), check("It works along any `dim`", passed=True)]
PENDING = done("why", Outcome.BY_HAND, None)
PERFECT = report([*(done(name, Outcome.PASSED, 2, checks=RIGHT) for name in IDS[:4]), PENDING])
MIDDLING = report(
    [
        done("softmax", Outcome.ERROR, 0, checks=[
            check("Five queries", "NameError: name 'weigths' is not defined (line 3 of your cell)"),
            check("A single query", "NameError: name 'weigths' is not defined (line 3 of your cell)"),
        ]),
        done("attention-scores", Outcome.PASSED, 2, checks=RIGHT),
        done("causal-mask", Outcome.FAILED, 0.5, checks=[
            *RIGHT,
            check("masked keys get no weight", "Query 2 attends to key 5, which the mask hides."),
            check("so with a padding mask", "Query 0 attends to key 4, which the mask hides."),
            check("in float64", "The arguments are unchanged. Query 1 attends to key 3, which the mask hides."),
        ], misconceptions=[NamedMistake(id="m", title="The mask is not used", hint="Look at the last column.")],
        example=ExampleReport(
            call="causal_mask(2)", yours="1   › 1‹\n1    1", expected="1    0\n1    1", inputs="size =\n2",
            pictures=DRAWINGS,
        )),
        done("padding-mask", Outcome.UNANSWERED, 0),
        PENDING,
    ],
    repairs=["The cell of `causal-mask` was there twice; the later one counts."],
)  # fmt: skip
EMPTY = report([done(name, Outcome.UNANSWERED, 0) for name in IDS])
UNREADABLE = report([done(name, Outcome.MISSING, 0) for name in IDS]).with_file(
    State.UNREADABLE, "x.ipynb is not a notebook", []
)
FIRST_SCREENS = {"perfect": PERFECT, "middling": MIDDLING, "empty": EMPTY, "unreadable": UNREADABLE}


def attempt(made: Report, sha256: str, day: int = 1) -> Attempt:
    """Return an attempt with this report."""
    at = datetime(2026, 3, day, 12, tzinfo=UTC)
    return Attempt(
        student="ada", lesson=made.lesson, sha256=sha256, version="v", graded_at=at, sandboxed=True, report=made
    )


def work(made: Report, **changes: object) -> GradedWork:
    """Return a submission to show, the second attempt of a student who answered nothing at first."""
    history = steps([attempt(EMPTY, "a"), attempt(made, "b", 2)])
    known: dict[str, object] = {"student": "ada", "titles": TITLES, "report": made, "notebook": notebook()}
    return GradedWork(**{**known, "sandboxed": True, "history": history, **changes})


def hostile_work() -> GradedWork:
    """Return a submission in which every text tries to break the page."""
    return work(
        hostile_report(),
        notebook=notebook(code=f'"""{NASTY}"""', words=f"{NASTY} <script>alert(1)</script>"),
        titles=Titles(LESSON),
        student="a</title>b",
        comments={"softmax": NASTY},
    )
