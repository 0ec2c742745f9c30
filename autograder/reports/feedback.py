"""What the formgrader shows in a graded notebook: one HTML fragment under each test cell, and one on top.

The fragments are outputs of cells. They bring their own scoped style and no script, and can be read
without the style. Students read the page that `feedback_page` makes instead.
"""

from collections.abc import Sequence

from autograder.model.report import ExerciseReport, Outcome, Report
from autograder.reports.causes import failures
from autograder.reports.templating import render
from autograder.reports.words import (
    NO_SANDBOX,
    STATES,
    distinct,
    exercise_total,
    is_full,
    next_step,
    place,
    sentence,
    wording,
)

MOST = 12  # repairs and incidents shown to the student; the rest are counted


def exercise_feedback(report: ExerciseReport, *, sandboxed: bool) -> str:
    """Return the HTML fragment for one exercise: outcome, known mistakes, failed and passed checks.

    It shows titles, hints and messages, never the source of a check. Everything is escaped.
    """
    return render(
        "exercise.html.j2",
        exercise=report,
        wording=wording(report),
        total=exercise_total(report.score, report.points),
        sentence=sentence(report),
        mistakes=distinct(report.misconceptions),
        failures=failures(report.checks),
        passed=[check for check in report.checks if check.passed],
        next_step=next_step(report),
        no_sandbox="" if sandboxed else NO_SANDBOX,
    )


def summary(report: Report, *, sandboxed: bool) -> str:
    """Return the HTML fragment for the top of the page: what to fix first, repairs, incidents.

    If nothing was graded, it says why instead. An exercise to fix links to its answer cell by
    nbgrader's anchor, `comment-` and the grade_id. A banner says so if the answers ran without a
    sandbox. A stretch exercise is not counted; it has feedback of its own, below its cell.
    """
    counted = [exercise for exercise in report.exercises if not exercise.is_stretch]
    graded = [exercise for exercise in counted if not exercise.is_pending]
    return render(
        "summary.html.j2",
        report=report,
        state=STATES[report.state],
        graded=graded,
        correct=sum(map(_is_correct, graded)),
        to_fix=[each for each in graded if _is_to_fix(each)],
        pending=_by_sentence(report.pending_exercises()),
        wording=wording,
        place=place,
        most=MOST,
        no_sandbox="" if sandboxed else NO_SANDBOX,
    )


def _is_correct(exercise: ExerciseReport) -> bool:
    by_hand = exercise.outcome.is_pending and is_full(exercise)
    return exercise.outcome is Outcome.PASSED or by_hand


def _is_to_fix(exercise: ExerciseReport) -> bool:
    return exercise.outcome is not Outcome.PASSED and not exercise.outcome.is_pending


def _by_sentence(exercises: Sequence[ExerciseReport]) -> dict[str, list[str]]:
    """Return the ids of exercises by what is to be said about them."""
    groups: dict[str, list[str]] = {}
    for exercise in exercises:
        groups.setdefault(sentence(exercise), []).append(exercise.id)
    return groups
