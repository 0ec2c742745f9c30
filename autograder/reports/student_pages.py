"""The three pages of a student: feedback on a lesson, the whole graded notebook, and the index.

Each is one file that opens from disk. It holds no script, and its policy allows none; no style but the
page's own, whatever a submission holds; and nothing loaded but the lesson's own pictures.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property, lru_cache
from urllib.parse import quote

from markupsafe import Markup
from nbformat import NotebookNode

from autograder.model.attempt import Attempt
from autograder.model.course import Course
from autograder.model.errors import LessonTextError
from autograder.model.lesson_text import read_lesson
from autograder.model.nbgrader_config import outside_totals
from autograder.model.report import CheckReport, ExerciseReport, NamedMistake, Outcome, Report
from autograder.model.text import counted
from autograder.reports import words
from autograder.reports.mathml import typeset_markdown
from autograder.reports.templating import code_html, policy_hash, render
from autograder.storage.gradebook import LessonGrades
from autograder.submissions.released import grade_id, is_solution
from coursework.edits.places import blame

INDEX, NOTEBOOK = "index.html", "notebook.html"
TO_INDEX = Markup(f'<li><a href="../{INDEX}">All your lessons</a></li>')  # noqa: S704 - our own text
MOST = 12  # repairs and incidents shown to the student; the rest are counted
NOTHING_ANSWERED = "No exercise has an answer yet, so there was nothing to grade."
LEFT_OUT = (Outcome.UNANSWERED, Outcome.MISSING)
ONE_LINE = 90  # characters
RAISED_HERE = "An exception was raised in the marked line. Its cause may lie further up."
DRAWINGS = 2  # of an example: the student's result, and the right one
_LINE = re.compile(r"\bline (\d{1,5}) of your cell")
_DRAWING = re.compile(r"<svg [^<>]*>(?:\s|<(?:rect|polyline) [^<>]*/>|<text [^<>]*>[^<>]*</text>)*</svg>")
_LABEL = re.compile(r' aria-label="[^"]*"')
_QUOTED_CODE = re.compile(r" \(`[^`]*`\)")
_NO_PICTURE = re.compile(r"<img\s*/?>")  # its address was not one of the lesson's pictures


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
    try:
        text = read_lesson(course.text(lesson))
    except LessonTextError:
        return Titles(lesson)
    return Titles(text.heading, {each.id: text.title(each.id, numbered=True) for each in text.exercises})


@lru_cache(maxsize=1024)  # a class's pages share the lesson's own cells
def prose_html(markdown: str) -> Markup:
    """Return a student's or an instructor's markdown as inert HTML with formulas as MathML."""
    html = _NO_PICTURE.sub("", typeset_markdown(markdown))
    return Markup(html)  # noqa: S704 - cleaned by markdown2html


class ExerciseGroup(StrEnum):
    """What is to be said about an exercise."""

    CORRECT = "correct"
    TO_FIX = "to_fix"
    BY_HAND = "by_hand"  # graded by hand
    PENDING = "pending"  # to be graded by hand


def group(exercise: ExerciseReport) -> ExerciseGroup:
    """Return which of the four groups an exercise belongs to."""
    if exercise.outcome.is_pending:
        return ExerciseGroup.PENDING if exercise.is_pending else ExerciseGroup.BY_HAND
    return ExerciseGroup.CORRECT if exercise.outcome is Outcome.PASSED else ExerciseGroup.TO_FIX


@dataclass(frozen=True)
class ExerciseView:
    """One exercise of a page.

    `scored_by_hand` tells that the instructor changed the score that the checks gave. `answer` is inert HTML,
    empty if there is none, and `blame` says which of its lines to change. `in_short` is the first sentence
    about what is wrong, in one line without quoted code. `drawings` are the student's result and the right
    one of the example, if they differ.
    """

    report: ExerciseReport
    title: str
    comment: Markup
    scored_by_hand: bool
    is_written: bool
    answer: Markup
    wording: words.Wording
    mistakes: list[NamedMistake]
    blame: str
    failures: list[words.Failure]
    passed: list[CheckReport]
    in_short: str
    left_to_earn: str
    drawings: list[Markup]


@dataclass(frozen=True)
class ScoreChange:
    """An exercise whose score differs from that of the attempt before; None twice: a new answer in words."""

    exercise: str
    before: float | None
    after: float | None

    @property
    def tone(self) -> str:
        """The class of its words: "good" for more points, "bad" for fewer, "" while a person has to grade."""
        if self.before is None or self.after is None:
            return ""
        return "good" if self.after > self.before else "bad"

    def __str__(self) -> str:
        if self.before is None and self.after is None:
            return "a new answer"
        return f"{words.points(self.before)} → {words.points(self.after)}"


@dataclass(frozen=True)
class AttemptStep:
    """One attempt of a student at a lesson, its number, and what changed since the one before."""

    number: int
    attempt: Attempt
    changes: list[ScoreChange]


def steps(attempts: Iterable[Attempt]) -> list[AttemptStep]:
    """Return a student's attempts at one lesson, oldest first.

    The same file graded again, as after a change to the grader, is one attempt: the newest counts.
    """
    found: list[Attempt] = []
    for attempt in attempts:
        if found and found[-1].sha256 == attempt.sha256:
            found.pop()
        found.append(attempt)
    return [
        AttemptStep(number, attempt, _since(found[number - 2], attempt) if number > 1 else [])
        for number, attempt in enumerate(found, start=1)
    ]


def _since(before: Attempt, now: Attempt) -> list[ScoreChange]:
    new = {name for name, answer in now.answers.items() if before.answers.get(name, answer) != answer}
    return changes(before.report, now.report, new)


def changes(before: Report, after: Report, new: Collection[str] = ()) -> list[ScoreChange]:
    """Return the exercises whose scores differ, in the lesson's order; none if either was not graded.

    Those with a `new` answer in words count as well: a score that a person gave to the earlier one is gone.
    """
    if not before.is_graded or not after.is_graded:
        return []
    old = {exercise.id: exercise.score for exercise in before.exercises}
    return [
        ScoreChange(each.id, old[each.id], each.score)
        for each in after.exercises
        if each.id in old
        and (
            words.points(old[each.id]) != words.points(each.score)
            or (each.outcome is Outcome.BY_HAND and each.id in new)
        )
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
    history: Sequence[AttemptStep] = ()
    is_alone: bool = False

    @cached_property
    def scored_by_hand(self) -> set[str]:
        """The exercises whose score the instructor changed; what the checks leave pending is none of them."""
        if not self.history:
            return set()
        changed = changes(self.history[-1].attempt.report, self.report)
        return {each.exercise for each in changed if each.before is not None}


def _exercise(work: GradedWork, report: ExerciseReport, cell: NotebookNode | None) -> ExerciseView:
    is_written, answer = cell is not None and cell.cell_type == "markdown", Markup("")
    where = blame(report.lines)
    if cell is not None and cell.source.strip():
        raised = {int(n) for check in report.failures for n in _LINE.findall(check.message)}
        blamed = {line for each in report.lines or () for line in range(each.first, each.last + 1)}
        lines = blamed or raised  # the message names the line that raised
        where = where or (RAISED_HERE if raised and not is_written else "")
        answer = prose_html(cell.source) if is_written else code_html(cell.source, lines)
    in_short = _QUOTED_CODE.sub("", words.first_message(report)).partition(". ")[0].removesuffix(".")
    if len(in_short) > ONE_LINE:
        in_short = in_short[:ONE_LINE].rpartition(" ")[0].replace("`", "") + " …"
    left = report.points - (report.score or 0.0)
    drawn = _DRAWING.findall(report.example.pictures) if report.example else []
    differ = len(drawn) == DRAWINGS and len({_LABEL.sub("", each) for each in drawn}) > 1
    return ExerciseView(
        report=report,
        title=work.titles.exercise(report.id),
        comment=prose_html(work.comments.get(report.id, "")),
        scored_by_hand=report.id in work.scored_by_hand,
        is_written=is_written,
        answer=answer,
        wording=words.wording(report),
        mistakes=words.distinct(report.misconceptions),
        blame=where,
        failures=words.failures(report.checks),
        passed=[check for check in report.checks if check.passed],
        in_short=in_short,
        left_to_earn=f"{counted(round(left, 2), 'point')} to gain",
        # Safe: our own drawings, and only elements that draw; the page's policy stops anything else.
        drawings=[Markup(each) for each in drawn] if differ else [],  # noqa: S704
    )


class Standing:
    """How the exercises that count ended.

    `graded` counts those that have a score, `full` those that earned all of their points, or more with
    extra credit, and `is_empty` says that the student answered nothing at all. `first` is the exercise to
    begin with: the one with most points to gain, the first of the lesson where several have.
    """

    def __init__(self, report: Report) -> None:
        counted = [each for each in report.exercises if not each.is_stretch]
        groups = {which: [each for each in counted if group(each) is which] for which in ExerciseGroup}
        self.to_fix = groups[ExerciseGroup.TO_FIX]
        self.graded = len(counted) - len(groups[ExerciseGroup.PENDING])
        full = [each for each in groups[ExerciseGroup.BY_HAND] if (each.score or 0.0) >= each.points]
        self.full = len(groups[ExerciseGroup.CORRECT]) + len(full)
        tried = [each for each in self.to_fix if each.outcome not in LEFT_OUT]
        self.is_empty = bool(counted) and len(self.to_fix) == len(counted) and not tried
        to_gain = {each.id: each.points - (each.score or 0.0) for each in self.to_fix}
        self.first = max(self.to_fix, key=lambda each: to_gain[each.id], default=None)


def headline(report: Report) -> str:
    """Return one sentence on how it went."""
    if not report.is_graded:
        return f"{words.STATES[report.state].sentence.partition('. ')[0].rstrip('.')}."
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
    what = counted(len(report.pending_exercises()), "answer")
    left = round(report.pending, 2)
    these = f"{counted(left, 'point')} {'counts' if left == 1 else 'count'}"
    return f"Your instructor grades {what} by hand. Until then, {these} neither for you nor against you."


def _render(template: str, *, sandboxed: bool, **values: object) -> str:
    style = render("student_style.j2")
    values["style"] = Markup(style)  # noqa: S704 - our own file, nothing is inserted into it
    values["policy"] = (
        f"default-src 'none'; style-src '{policy_hash(style)}'; img-src 'self' file:; base-uri 'none'; "
        "form-action 'none'"
    )
    return render(template, no_sandbox="" if sandboxed else words.NO_SANDBOX, **values)


def feedback_page(work: GradedWork) -> str:
    """Return the feedback on one lesson as HTML: what it earned, what is wrong, and what to do now.

    Everything that comes from a submission is escaped or cleaned.
    """
    report, standing = work.report, Standing(work.report)
    answers = {grade_id(cell): cell for cell in reversed(work.notebook.cells) if is_solution(cell)}
    exercises = [_exercise(work, each, answers.get(each.id)) for each in report.exercises]
    state, first = words.STATES[report.state], standing.first if report.is_graded else None
    shown = [each for each in exercises if not each.report.is_skipped]  # a skipped one is only in the table
    return _render(
        "student_feedback.html.j2",
        sandboxed=work.sandboxed,
        work=work,
        report=report,
        total=words.report_total(report, work.late_penalty),
        exercises=exercises,
        groups={
            which.value: [each for each in shown if group(each.report) is which] for which in ExerciseGroup
        },
        left_out=LEFT_OUT,
        standing=standing,
        headline=headline(report),
        pending=what_is_pending(report),
        first=first.id if first else "",
        what_now=f"{state.sentence.partition('. ')[2]} {state.if_that_fails}".strip(),
        last=work.history[-1] if len(work.history) > 1 else None,
        exercise_total=words.exercise_total,
        taken_off=words.taken_off,
        sentence=words.sentence,
        next_step=words.next_step,
        has_entries=words.has_entries,
        place=words.place,
        stretch=words.STRETCH,
        most=MOST,
        to_index="" if work.is_alone else TO_INDEX,
        notebook="" if work.is_alone or not report.is_graded else NOTEBOOK,
    )


def page_of_one(course: Course, report: Report, notebook: NotebookNode, *, sandboxed: bool) -> str:
    """Return the feedback page of a notebook that was graded by itself, as by `autograder check`.

    It has no student's name and no links to other files.
    """
    known = titles(course, report.lesson)
    return feedback_page(GradedWork("", known, report, notebook, sandboxed, is_alone=True))


@dataclass(frozen=True)
class CellView:
    """One cell of the graded notebook: its HTML, and the exercise and its points if it is an answer.

    One that `may_be_wide` has to be reached with the keyboard: it may scroll sideways on a phone.
    """

    html: Markup
    is_prose: bool
    may_be_wide: bool
    exercise: str
    total: str


def notebook_page(work: GradedWork) -> str:
    """Return the whole graded notebook as HTML: the lesson's text, and the student's answers in frames.

    It has no script, and shows no outputs: none were kept. The first cell, the summary, is left out.
    """
    totals = {each.id: words.exercise_total(each) for each in work.report.exercises}
    cells = []
    for cell in work.notebook.cells[1:]:
        is_prose = cell.cell_type != "code"
        html = prose_html(cell.source) if is_prose else code_html(cell.source)
        exercise = (grade_id(cell) or "") if is_solution(cell) else ""
        score = totals.pop(exercise, "")  # of two cells with one id, the first is the answer
        wide = is_prose and any(tag in html for tag in ("<table", "<math", "<pre"))
        cells.append(CellView(html, is_prose, wide, exercise if score else "", score))
    return _render(
        "student_notebook.html.j2",
        sandboxed=work.sandboxed,
        titles=work.titles,
        cells=cells,
        page=f"{work.report.lesson}.html",
        to_index=TO_INDEX,
    )


@dataclass(frozen=True)
class LessonView:
    """One lesson of a student: its attempts, and the newest report with the gradebook's scores.

    One that is extra has points of its own, and is not in the total.
    """

    titles: Titles
    page: str  # relative to the index
    steps: Sequence[AttemptStep]
    report: Report
    late_penalty: float
    to_fix: Sequence[ExerciseReport]
    is_extra: bool


def student_index(
    course: Course,
    student: str,
    attempts: Mapping[str, Sequence[Attempt]],
    grades: Mapping[str, LessonGrades],
) -> str:
    """Return a student's index as HTML: every lesson and attempt, with what changed in between.

    `attempts` are those of each lesson, oldest first.
    """
    lessons, extra = [], outside_totals(course)
    for name, made in sorted(attempts.items()):
        known, folder = grades.get(name, LessonGrades()), quote(name, safe="")
        report = made[-1].report.with_scores(known.scores)
        view = LessonView(
            titles=titles(course, name),
            page=f"{folder}/{folder}.html",
            steps=steps(made),
            report=report,
            late_penalty=known.late_penalty,
            to_fix=Standing(report).to_fix if report.is_graded else [],
            is_extra=name in extra,
        )
        lessons.append(view)
    counted = [each for each in lessons if not each.is_extra]
    graded = [each for each in counted if each.report.is_graded]
    earned = sum(each.report.score - each.late_penalty for each in graded)
    most = sum(each.report.max_score for each in graded)
    pending = sum(each.report.pending for each in graded)
    return _render(
        "student_index.html.j2",
        sandboxed=all(made[-1].sandboxed for made in attempts.values()),
        student=student,
        lessons=lessons,
        counted=counted,
        total=words.total(earned, most, pending)
        if graded
        else "None of the newest attempts is graded"
        if any(step.attempt.report.is_graded for each in counted for step in each.steps)
        else "Nothing graded",
        report_total=words.report_total,
        total_of_checks=words.total_of_checks,
        taken_off=words.taken_off,
    )
