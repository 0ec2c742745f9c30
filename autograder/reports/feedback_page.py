"""The feedback page of one submission: what it earned, what is wrong, and what to do now."""

from nbformat import NotebookNode

from autograder.model.course import Course
from autograder.model.report import Report
from autograder.reports.feedback_view import GradedWork, grouped, views
from autograder.reports.feedback_words import (
    first_to_fix,
    headline,
    how_to_hand_in,
    left_to_earn,
    standing,
    what_is_pending,
)
from autograder.reports.history import Step
from autograder.reports.student_pages import INDEX, NOTEBOOK, render_page
from autograder.reports.titles import titles
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

MOST = 12  # repairs and incidents shown to the student; the rest are counted


def feedback_page(work: GradedWork) -> str:
    """Return the page as HTML; everything that comes from a submission is escaped or cleaned."""
    report, exercises = work.report, views(work)
    return render_page(
        "student_feedback.html.j2",
        work=work,
        report=report,
        state=STATES[report.state],
        total=_total(work),
        exercises=exercises,
        groups=grouped(exercises),
        standing=standing(report),
        headline=headline(report),
        pending=what_is_pending(report),
        first=_first(report),
        what_now=how_to_hand_in(report.state),
        last=_last_step(work),
        exercise_total=exercise_total,
        left_to_earn=left_to_earn,
        sentence=sentence,
        next_step=next_step,
        place=place,
        stretch=STRETCH,
        most=MOST,
        index="" if work.is_alone else f"../{INDEX}",
        notebook="" if work.is_alone or not report.is_graded else NOTEBOOK,
        no_sandbox="" if work.sandboxed else NO_SANDBOX,
    )


def page_of_one(course: Course, report: Report, notebook: NotebookNode, *, sandboxed: bool) -> str:
    """Return the page of a notebook that was graded by itself, as by `autograder check`.

    It has no student's name and no links to other files.
    """
    known = titles(course, report.lesson)
    return feedback_page(GradedWork("", known, report, notebook, sandboxed, is_alone=True))


def _total(work: GradedWork) -> str:
    """Return the score in words, less what was taken off for lateness."""
    report = work.report
    if not report.is_graded:
        return report_total(report)
    return total(report.score - work.late_penalty, report.max_score, report.pending)


def _first(report: Report) -> str:
    """Return the id of the exercise to begin with; empty if there is none."""
    found = first_to_fix(report) if report.is_graded else None
    return found.id if found else ""


def _last_step(work: GradedWork) -> Step | None:
    """Return the newest attempt if there was one before it."""
    return work.history[-1] if len(work.history) > 1 else None
