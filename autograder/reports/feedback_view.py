"""What a feedback page shows of each exercise: the answer, the example, the mistake, the checks."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from markupsafe import Markup
from nbformat import NotebookNode

from autograder.model.report import CheckReport, ExampleReport, ExerciseReport, NamedMistake, Outcome, Report
from autograder.reports.causes import Failure, failures
from autograder.reports.code_html import code_html
from autograder.reports.feedback_words import LEFT_OUT
from autograder.reports.history import Step
from autograder.reports.mathml import typeset_markdown
from autograder.reports.titles import Titles
from autograder.reports.words import Wording, distinct, wording
from autograder.submissions.nbgrader_cells import grade_id, is_solution

_LINE = re.compile(r"\bline (\d{1,5}) of your cell")
_DRAWING = re.compile(r"<svg [^<>]*>(?:\s|<(?:rect|polyline) [^<>]*/>|<text [^<>]*>[^<>]*</text>)*</svg>")
_LABEL = re.compile(r' aria-label="[^"]*"')
_QUOTED_CODE = re.compile(r" \(`[^`]*`\)")
ONE_LINE = 90  # characters
_NO_PICTURE = re.compile(r"<img\s*/?>")  # its address was not one of the lesson's pictures
_DRAWINGS = 2  # the student's result, and the right one


@dataclass(frozen=True)
class GradedWork:
    """A graded submission as a page shows it; `report` has the gradebook's scores.

    `comments` are the instructor's, by exercise. `history` holds the student's attempts at this lesson.
    `is_alone` says that nothing lies beside the page, as after nbgrader's exchange, which hands out the
    page and no other file.
    """

    student: str
    titles: Titles
    report: Report
    notebook: NotebookNode
    sandboxed: bool
    comments: Mapping[str, str] = field(default_factory=dict)
    late_penalty: float = 0.0
    history: Sequence[Step] = ()
    is_alone: bool = False

    def answer(self, exercise_id: str) -> NotebookNode | None:
        """Return the cell that holds the answer to an exercise."""
        solutions = filter(is_solution, self.notebook.cells)
        return next((cell for cell in solutions if grade_id(cell) == exercise_id), None)


@dataclass(frozen=True)
class ExerciseView:
    """One exercise of a page."""

    report: ExerciseReport
    title: str
    cell: NotebookNode | None
    comment: Markup

    @property
    def wording(self) -> Wording:
        """The sign and the words for the outcome."""
        return wording(self.report)

    @property
    def is_written(self) -> bool:
        """Whether the answer is prose."""
        return self.cell is not None and self.cell.cell_type == "markdown"

    @cached_property
    def answer(self) -> Markup:
        """The student's answer as HTML that is inert; empty if there is none."""
        if self.cell is None or not self.cell.source.strip():
            return Markup("")
        if self.is_written:
            return prose_html(self.cell.source)
        messages = (check.message for check in self.report.failures)
        return code_html(self.cell.source, {int(n) for each in messages for n in _LINE.findall(each)})

    @property
    def mistakes(self) -> list[NamedMistake]:
        """The known mistakes that explain the results."""
        return distinct(self.report.misconceptions)

    @cached_property
    def failures(self) -> list[Failure]:
        """The failed checks by cause."""
        return failures(self.report.checks)

    @property
    def in_short(self) -> str:
        """What is wrong, in one line: the first mistake, or else the first message; empty if nothing is."""
        told = [mistake.title for mistake in self.mistakes]
        told += [failure.message for failure in self.failures]
        return "" if self.report.outcome.is_pending else _in_short(next(filter(None, told), ""))

    @property
    def passed(self) -> list[CheckReport]:
        """The checks that passed."""
        return [check for check in self.report.checks if check.passed]

    @property
    def example(self) -> ExampleReport | None:
        """The public example that came out wrong."""
        return self.report.example

    @property
    def drawings(self) -> list[Markup]:
        """The two drawings of the example, the student's result and the right one, if they differ."""
        drawn = _DRAWING.findall(self.example.pictures) if self.example else []
        # Safe: our own drawings, and only elements that draw; the page's policy stops anything else.
        shown = len(drawn) == _DRAWINGS and len({_LABEL.sub("", each) for each in drawn}) > 1
        return [Markup(each) for each in drawn] if shown else []  # noqa: S704


def _in_short(text: str) -> str:
    """Return the first sentence of a message without the code that it quotes, cut to one line."""
    sentence = _QUOTED_CODE.sub("", text).partition(". ")[0].removesuffix(".")
    if len(sentence) <= ONE_LINE:
        return sentence
    return sentence[:ONE_LINE].rpartition(" ")[0].replace("`", "") + " …"


@lru_cache(maxsize=1024)  # a class's pages share the lesson's own cells
def prose_html(markdown: str) -> Markup:
    """Return a student's or an instructor's markdown as inert HTML with formulas as MathML."""
    html = _NO_PICTURE.sub("", typeset_markdown(markdown))
    return Markup(html)  # noqa: S704 - cleaned by markdown2html


def views(work: GradedWork) -> list[ExerciseView]:
    """Return the exercises of a page in the lesson's order."""
    return [
        ExerciseView(
            report=report,
            title=work.titles.exercise(report.id),
            cell=work.answer(report.id),
            comment=prose_html(work.comments.get(report.id, "")),
        )
        for report in work.report.exercises
    ]


@dataclass(frozen=True)
class Groups:
    """The exercises of a page by what is to be said about them."""

    to_fix: list[ExerciseView]
    left_out: Mapping[Outcome, list[ExerciseView]]
    pending: list[ExerciseView]
    by_hand: list[ExerciseView]
    correct: list[ExerciseView]


def grouped(exercises: Sequence[ExerciseView]) -> Groups:
    """Return exercises by what is to be said; a stretch exercise that was left alone is in no group."""
    shown = [each for each in exercises if not each.report.is_skipped]
    machine = [each for each in shown if not each.report.outcome.is_pending]
    by_hand = [each for each in shown if each.report.outcome.is_pending]
    wrong = [each for each in machine if each.report.outcome is not Outcome.PASSED]
    return Groups(
        to_fix=[each for each in wrong if each.report.outcome not in LEFT_OUT],
        left_out={
            outcome: found
            for outcome in LEFT_OUT
            if (found := [each for each in wrong if each.report.outcome is outcome])
        },
        pending=[each for each in by_hand if each.report.is_pending],
        by_hand=[each for each in by_hand if not each.report.is_pending],
        correct=[each for each in machine if each.report.outcome is Outcome.PASSED],
    )
