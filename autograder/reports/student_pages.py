"""The three pages of a student: feedback on a lesson, the whole graded notebook, and the index.

Each is one file that opens from disk. It holds no script, and its policy allows none; no style but the
page's own, whatever a submission holds; and nothing loaded but the lesson's own pictures.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from markupsafe import Markup
from nbformat import NotebookNode

from autograder.model.course import Course
from autograder.model.report import ExerciseReport, Report
from autograder.reports.student_view import (
    LEFT_OUT,
    GradedWork,
    Group,
    Standing,
    Step,
    Titles,
    group,
    headline,
    prose_html,
    steps,
    titles,
    what_is_pending,
)
from autograder.reports.templating import code_html, policy_hash, render
from autograder.reports.words import (
    NO_SANDBOX,
    STATES,
    STRETCH,
    exercise_total,
    next_step,
    place,
    report_total,
    sentence,
    total,
)
from autograder.storage.attempts import Attempt
from autograder.storage.gradebook import LessonGrades
from autograder.submissions.nbgrader_cells import grade_id, is_solution

INDEX, NOTEBOOK = "index.html", "notebook.html"
MOST = 12  # repairs and incidents shown to the student; the rest are counted


def _render(template: str, *, sandboxed: bool, **values: object) -> str:
    """Return a page with our style sheet, and a policy that names it by its digest."""
    style = render("student_style.j2")
    values["style"] = Markup(style)  # noqa: S704 - our own file, nothing is inserted into it
    values["policy"] = (
        f"default-src 'none'; style-src '{policy_hash(style)}'; img-src 'self' file:; base-uri 'none'; "
        "form-action 'none'"
    )
    return render(template, no_sandbox="" if sandboxed else NO_SANDBOX, **values)


def feedback_page(work: GradedWork) -> str:
    """Return the feedback on one lesson as HTML: what it earned, what is wrong, and what to do now.

    Everything that comes from a submission is escaped or cleaned.
    """
    report, exercises, standing = work.report, work.exercises(), Standing(work.report)
    state, first = STATES[report.state], standing.first if report.is_graded else None
    shown = [each for each in exercises if not each.report.is_skipped]  # a skipped one is only in the table
    return _render(
        "student_feedback.html.j2",
        sandboxed=work.sandboxed,
        work=work,
        report=report,
        total=report_total(report, work.late_penalty),
        exercises=exercises,
        groups={which.value: [each for each in shown if group(each.report) is which] for which in Group},
        left_out=LEFT_OUT,
        standing=standing,
        headline=headline(report),
        pending=what_is_pending(report),
        first=first.id if first else "",
        what_now=f"{state.sentence.partition('. ')[2]} {state.if_that_fails}".strip(),
        last=work.history[-1] if len(work.history) > 1 else None,
        exercise_total=exercise_total,
        sentence=sentence,
        next_step=next_step,
        place=place,
        stretch=STRETCH,
        most=MOST,
        index="" if work.is_alone else f"../{INDEX}",
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
    totals = {each.id: exercise_total(each) for each in work.report.exercises}
    cells = []
    for cell in work.notebook.cells[1:]:
        is_prose = cell.cell_type != "code"
        html = prose_html(cell.source) if is_prose else code_html(cell.source)
        exercise = (grade_id(cell) or "") if is_solution(cell) else ""
        total = totals.pop(exercise, "")  # of two cells with one id, the first is the answer
        wide = is_prose and any(tag in html for tag in ("<table", "<math", "<pre"))
        cells.append(CellView(html, is_prose, wide, exercise if total else "", total))
    return _render(
        "student_notebook.html.j2",
        sandboxed=work.sandboxed,
        titles=work.titles,
        cells=cells,
        page=f"{work.report.lesson}.html",
        index=f"../{INDEX}",
    )


@dataclass(frozen=True)
class LessonView:
    """One lesson of a student: its attempts, and the newest report with the gradebook's scores."""

    titles: Titles
    page: str  # relative to the index
    steps: Sequence[Step]
    report: Report
    late_penalty: float
    to_fix: Sequence[ExerciseReport]


def student_index(
    course: Course,
    student: str,
    attempts: Mapping[str, Sequence[Attempt]],
    grades: Mapping[str, LessonGrades],
) -> str:
    """Return a student's index as HTML: every lesson and attempt, with what changed in between.

    `attempts` are those of each lesson, oldest first.
    """
    lessons = []
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
        )
        lessons.append(view)
    graded = [each for each in lessons if each.report.is_graded]
    earned = sum(each.report.score - each.late_penalty for each in graded)
    most = sum(each.report.max_score for each in graded)
    pending = sum(each.report.pending for each in graded)
    return _render(
        "student_index.html.j2",
        sandboxed=all(made[-1].sandboxed for made in attempts.values()),
        student=student,
        lessons=lessons,
        total=total(earned, most, pending) if graded else "Nothing graded",
        report_total=report_total,
    )
