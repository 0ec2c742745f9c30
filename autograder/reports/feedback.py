"""What a student reads: one fragment of HTML under each test cell, and one at the page's top.

The fragments sit inside the page that nbgrader's generate_feedback makes, so they bring their own
scoped style, no script, and read well where a viewer drops the style.
"""

from autograder.reports.templating import environment
from autograder.reports.words import (
    NO_SANDBOX,
    WORDING,
    distinct,
    failures,
    next_step,
    sentence,
)
from autograder.results import ExerciseReport, Outcome, Report

# What is said of each incident and repair is short; a flood of them is evidence, not reading.
MOST = 12


def explain(report: ExerciseReport, *, sandboxed: bool) -> str:
    """Return the HTML fragment for one exercise: outcome, causes, what failed, what passed.

    It shows titles, hints and messages, never a check's source. Everything is escaped.
    """
    return (
        environment()
        .get_template("exercise.html.j2")
        .render(
            exercise=report,
            wording=WORDING[report.outcome],
            sentence=sentence(report),
            mistakes=distinct(report.misconceptions),
            failures=failures(report.checks),
            passed=[check for check in report.checks if check.passed],
            next_step=next_step(report),
            no_sandbox="" if sandboxed else NO_SANDBOX,
        )
    )


def preface(report: Report, *, sandboxed: bool) -> str:
    """Return the HTML fragment for the page's top: where to look first, repairs, incidents.

    Each exercise in need of a look links to its answer cell, by the anchor that nbgrader gives
    every answer cell: `comment-` and the grade_id. A banner says so where the answers ran
    without a sandbox.
    """
    open_ones = (Outcome.PASSED, Outcome.NEEDS_MARKING, Outcome.GRADER_FAULT)
    return (
        environment()
        .get_template("preface.html.j2")
        .render(
            look_at=[
                exercise for exercise in report.exercises if exercise.outcome not in open_ones
            ],
            waiting=list(report.waiting()),
            right=sum(exercise.outcome is Outcome.PASSED for exercise in report.exercises),
            total=len(report.exercises),
            wordings=WORDING,
            repairs=report.repairs,
            incidents=report.incidents,
            most=MOST,
            no_sandbox="" if sandboxed else NO_SANDBOX,
        )
    )
