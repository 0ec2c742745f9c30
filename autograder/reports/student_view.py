"""What a student's pages show: a graded submission, its exercises by what is to be said, and how it went."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from pathlib import Path

from markupsafe import Markup
from nbformat import NotebookNode

from autograder.model.course import Course
from autograder.model.report import CheckReport, ExerciseReport, NamedMistake, Outcome, Report
from autograder.reports.mathml import typeset_markdown
from autograder.reports.templating import code_html
from autograder.reports.words import (
    STATES,
    Failure,
    Wording,
    distinct,
    failures,
    first_message,
    points,
    wording,
)
from autograder.storage.attempts import Attempt
from autograder.submissions.released import grade_id, is_solution

NOTHING_ANSWERED = "No exercise has an answer yet, so there was nothing to grade."
LEFT_OUT = (Outcome.UNANSWERED, Outcome.MISSING)
ONE_LINE = 90  # characters
DRAWINGS = 2  # of an example: the student's result, and the right one
_LINE = re.compile(r"\bline (\d{1,5}) of your cell")
_DRAWING = re.compile(r"<svg [^<>]*>(?:\s|<(?:rect|polyline) [^<>]*/>|<text [^<>]*>[^<>]*</text>)*</svg>")
_LABEL = re.compile(r' aria-label="[^"]*"')
_QUOTED_CODE = re.compile(r" \(`[^`]*`\)")
_NO_PICTURE = re.compile(r"<img\s*/?>")  # its address was not one of the lesson's pictures
_HEADING = re.compile(r"# (#+) (.+)")
_ANSWER = re.compile(r"# %% (?:solution|written) ([\w-]+)")
_SMALL_PRINT = re.compile(r"\s*\((?:[\d.]+ points?|stretch)\)$|, not counted$")


@dataclass(frozen=True)
class Titles:
    """What a lesson and its exercises are called in the notebook: "Exercise 1: `softmax`"."""

    lesson: str
    exercises: Mapping[str, str] = field(default_factory=dict)

    def exercise(self, exercise_id: str) -> str:
        """Return the title of an exercise, or its id in backticks if the lesson's text has none."""
        return self.exercises.get(exercise_id, f"`{exercise_id}`")


def titles(course: Course, lesson: str) -> Titles:
    """Return the titles in a lesson's text; without the text, ids stand for them."""
    path = course.text(lesson)
    try:
        return _read_titles(path, path.stat().st_mtime_ns)
    except OSError:
        return Titles(lesson)


@lru_cache(maxsize=64)
def _read_titles(path: Path, _changed: int) -> Titles:
    lesson, heading = "", ""
    exercises: dict[str, str] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if found := _HEADING.fullmatch(line):
            heading = _SMALL_PRINT.sub("", found[2])
            lesson = lesson or heading
        elif (answer := _ANSWER.match(line)) and heading:
            exercises[answer[1]] = heading
    return Titles(lesson or path.stem, exercises)


@lru_cache(maxsize=1024)  # a class's pages share the lesson's own cells
def prose_html(markdown: str) -> Markup:
    """Return a student's or an instructor's markdown as inert HTML with formulas as MathML."""
    html = _NO_PICTURE.sub("", typeset_markdown(markdown))
    return Markup(html)  # noqa: S704 - cleaned by markdown2html


class Group(StrEnum):
    """What is to be said about an exercise."""

    CORRECT = "correct"
    TO_FIX = "to_fix"
    BY_HAND = "by_hand"  # graded by hand
    PENDING = "pending"  # to be graded by hand


def group(exercise: ExerciseReport) -> Group:
    """Return which of the four groups an exercise belongs to."""
    if exercise.outcome.is_pending:
        return Group.PENDING if exercise.is_pending else Group.BY_HAND
    return Group.CORRECT if exercise.outcome is Outcome.PASSED else Group.TO_FIX


@dataclass(frozen=True)
class ExerciseView:
    """One exercise of a page.

    `answer` is inert HTML, empty if there is none. `in_short` is the first sentence about what is wrong, in
    one line without quoted code. `drawings` are two of the example, the student's result and the right one,
    if they differ.
    """

    report: ExerciseReport
    title: str
    comment: Markup
    is_written: bool
    answer: Markup
    wording: Wording
    mistakes: list[NamedMistake]
    failures: list[Failure]
    passed: list[CheckReport]
    in_short: str
    left_to_earn: str
    drawings: list[Markup]


def _exercise(report: ExerciseReport, title: str, cell: NotebookNode | None, comment: str) -> ExerciseView:
    is_written, answer = cell is not None and cell.cell_type == "markdown", Markup("")
    if cell is not None and cell.source.strip():
        lines = {int(n) for check in report.failures for n in _LINE.findall(check.message)}
        answer = prose_html(cell.source) if is_written else code_html(cell.source, lines)
    in_short = _QUOTED_CODE.sub("", first_message(report)).partition(". ")[0].removesuffix(".")
    if len(in_short) > ONE_LINE:
        in_short = in_short[:ONE_LINE].rpartition(" ")[0].replace("`", "") + " …"
    left = report.points - (report.score or 0.0)
    drawn = _DRAWING.findall(report.example.pictures) if report.example else []
    differ = len(drawn) == DRAWINGS and len({_LABEL.sub("", each) for each in drawn}) > 1
    return ExerciseView(
        report=report,
        title=title,
        comment=prose_html(comment),
        is_written=is_written,
        answer=answer,
        wording=wording(report),
        mistakes=distinct(report.misconceptions),
        failures=failures(report.checks),
        passed=[check for check in report.checks if check.passed],
        in_short=in_short,
        left_to_earn=f"{points(left)} point{'' if left == 1 else 's'} to gain",
        # Safe: our own drawings, and only elements that draw; the page's policy stops anything else.
        drawings=[Markup(each) for each in drawn] if differ else [],  # noqa: S704
    )


@dataclass(frozen=True)
class Change:
    """An exercise whose score differs from that of the attempt before."""

    exercise: str
    before: float | None
    after: float | None

    @property
    def went_up(self) -> bool:
        """Whether the later score is the higher one; pending points are not."""
        return self.before is not None and self.after is not None and self.after > self.before

    def __str__(self) -> str:
        """Return "1.5 → 3"."""
        return f"{points(self.before)} → {points(self.after)}"


@dataclass(frozen=True)
class Step:
    """One attempt of a student at a lesson, its number, and what changed since the one before."""

    number: int
    attempt: Attempt
    changes: list[Change]


def steps(attempts: Iterable[Attempt]) -> list[Step]:
    """Return a student's attempts at one lesson, oldest first.

    The same file graded again, as after a change to the grader, is one attempt: the newest counts.
    """
    found: list[Attempt] = []
    for attempt in attempts:
        if found and found[-1].sha256 == attempt.sha256:
            found.pop()
        found.append(attempt)
    before = [None, *(attempt.report for attempt in found)]
    return [
        Step(number, attempt, changes(before[number - 1], attempt.report))
        for number, attempt in enumerate(found, start=1)
    ]


def changes(before: Report | None, after: Report) -> list[Change]:
    """Return the exercises whose scores differ, in the lesson's order; none if either was not graded."""
    if before is None or not before.is_graded or not after.is_graded:
        return []
    old = {exercise.id: exercise.score for exercise in before.exercises}
    return [
        Change(each.id, old[each.id], each.score)
        for each in after.exercises
        if each.id in old and points(old[each.id]) != points(each.score)
    ]


@dataclass(frozen=True)
class GradedWork:
    """A graded submission as a page shows it; `report` has the gradebook's scores.

    `comments` are the instructor's, by exercise. `history` holds the student's attempts at this lesson.
    `is_alone` says that nothing lies beside the page, as after nbgrader's exchange, which distributes the
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

    def exercises(self) -> list[ExerciseView]:
        """Return the exercises of a page in the lesson's order."""
        answers = {grade_id(cell): cell for cell in reversed(self.notebook.cells) if is_solution(cell)}
        name, comment = self.titles.exercise, self.comments.get
        return [
            _exercise(each, name(each.id), answers.get(each.id), comment(each.id, ""))
            for each in self.report.exercises
        ]


class Standing:
    """How the exercises that count ended.

    `graded` counts those that have a score, `full` those that earned all of their points, or more with
    extra credit, and `is_empty` says that the student answered nothing at all. `first` is the exercise to
    begin with: the first of the lesson, since later ones build on it.
    """

    def __init__(self, report: Report) -> None:
        """Group the exercises of a report."""
        counted = [each for each in report.exercises if not each.is_stretch]
        groups = {which: [each for each in counted if group(each) is which] for which in Group}
        self.to_fix = groups[Group.TO_FIX]
        self.graded = len(counted) - len(groups[Group.PENDING])
        full = [each for each in groups[Group.BY_HAND] if (each.score or 0.0) >= each.points]
        self.full = len(groups[Group.CORRECT]) + len(full)
        tried = [each for each in self.to_fix if each.outcome not in LEFT_OUT]
        self.is_empty = bool(counted) and len(self.to_fix) == len(counted) and not tried
        self.first = next(iter([*tried, *self.to_fix]), None)


def headline(report: Report) -> str:
    """Return one sentence on how it went."""
    if not report.is_graded:
        return f"{STATES[report.state].sentence.partition('. ')[0].rstrip('.')}."
    standing = Standing(report)
    if standing.is_empty:
        return NOTHING_ANSWERED
    if not standing.graded:
        return "Nothing has been graded yet."
    plural = "" if standing.graded == 1 else "s"
    which = f"{'graded ' if report.pending else ''}exercise{plural}"
    if standing.full == standing.graded:
        return f"All {standing.graded} {which} correct. Well done."
    return f"{standing.full} of {standing.graded} {which} correct."


def what_is_pending(report: Report) -> str:
    """Return who grades the rest, and that it costs nothing until then; empty if nothing is pending."""
    if not report.pending:
        return ""
    count = len(report.pending_exercises())
    what = "1 answer" if count == 1 else f"{count} answers"
    left = f"{points(report.pending)} point{'' if report.pending == 1 else 's'}"
    return f"Your instructor grades {what} by hand. Until then, {left} count neither for you nor against you."
