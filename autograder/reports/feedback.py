"""What a student reads: one HTML fragment under each test cell, and one at the top of the page.

The fragments become part of the page that nbgrader's generate_feedback makes. They bring their own
scoped style and no script, and can be read without the style.
"""

from autograder.model.report import ExerciseReport, Outcome, Report
from autograder.reports.templating import render
from autograder.reports.words import (
    NO_SANDBOX,
    WORDING,
    distinct,
    failures,
    next_step,
    sentence,
)

MOST = 12  # repairs and incidents shown to the student; the rest are counted


def exercise_feedback(report: ExerciseReport, *, sandboxed: bool) -> str:
    """Return the HTML fragment for one exercise: outcome, known mistakes, failed and passed checks.

    It shows titles, hints and messages, never the source of a check. Everything is escaped.
    """
    return render(
        "exercise.html.j2",
        exercise=report,
        wording=WORDING[report.outcome],
        sentence=sentence(report),
        mistakes=distinct(report.misconceptions),
        failures=failures(report.checks),
        passed=[check for check in report.checks if check.passed],
        next_step=next_step(report),
        no_sandbox="" if sandboxed else NO_SANDBOX,
    )


def summary(report: Report, *, sandboxed: bool) -> str:
    """Return the HTML fragment for the top of the page: what to fix first, repairs, incidents.

    An exercise to fix links to its answer cell by nbgrader's anchor, `comment-` and the grade_id.
    A banner says so if the answers ran without a sandbox.
    """
    outcomes = [exercise.outcome for exercise in report.exercises]
    return render(
        "summary.html.j2",
        to_fix=[
            exercise
            for exercise in report.exercises
            if exercise.outcome is not Outcome.PASSED and not exercise.outcome.is_open
        ],
        open_exercises=report.open_exercises(),
        correct=outcomes.count(Outcome.PASSED),
        total=len(outcomes),
        wordings=WORDING,
        repairs=report.repairs,
        incidents=report.incidents,
        most=MOST,
        no_sandbox="" if sandboxed else NO_SANDBOX,
    )
