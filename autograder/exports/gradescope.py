"""A graded submission as Gradescope's results.json.

The format is Gradescope's own: https://gradescope-autograders.readthedocs.io/en/latest/specs/
Each exercise is a test case. One whose points are pending has neither score nor status, so that
Gradescope counts it neither as earned nor as lost; a question graded by hand belongs beside it in the
assignment's outline.
"""

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from autograder.model.report import ExerciseReport, Outcome, Report
from autograder.reports.words import (
    NO_SANDBOX,
    STATES,
    distinct,
    failures,
    next_step,
    place,
    report_total,
    sentence,
    wording,
)

NO_COMMENTS: Final[Mapping[str, str]] = MappingProxyType({})


def results_json(
    report: Report, *, sandboxed: bool = True, penalty: float = 0.0, comments: Mapping[str, str] = NO_COMMENTS
) -> str:
    """Return a report as results.json, with the instructor's comments by exercise.

    A penalty for lateness is taken off the total.
    """
    made = results(report, sandboxed=sandboxed, penalty=penalty, comments=comments)
    return json.dumps(made, indent=2)


def results(
    report: Report, *, sandboxed: bool, penalty: float, comments: Mapping[str, str]
) -> dict[str, Any]:
    """Return what results.json holds."""
    return {
        "score": round(max(0.0, report.score - penalty), 4),
        "output": "\n".join(_summary(report, sandboxed=sandboxed, penalty=penalty)),
        "output_format": "text",
        "test_output_format": "text",
        "test_name_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",  # it is for the instructor, and may hold a path
        "tests": [_test_case(each, comments.get(each.id, "")) for each in report.exercises]
        if report.is_graded
        else [],
        "extra_data": {
            "lesson": report.lesson,
            "state": report.state.value,
            "pending": report.pending,
            "max_score": report.max_score,
            "penalty": penalty,
        },
    }


def _summary(report: Report, *, sandboxed: bool, penalty: float) -> list[str]:
    """Return lines about the submission as a whole."""
    lines = [f"{report.lesson}: {report_total(report)}"]
    if not report.is_graded:
        lines += [STATES[report.state].sentence, report.reason]
    if penalty:
        lines.append(f"{penalty:g} points were taken off because it was late.")
    if report.repairs:
        lines += ["", "Repaired before grading (no points taken off)", *report.repairs]
    if told := report.told_incidents:
        notes = [f"{place(incident)}: {incident.message}" for incident in told]
        lines += ["", "Noticed while the code ran (no points taken off)", *notes]
    return [*lines, *([] if sandboxed else ["", NO_SANDBOX])]


def _test_case(exercise: ExerciseReport, comment: str) -> dict[str, Any]:
    """Return one exercise as a test case; a stretch exercise has a status and no points."""
    case: dict[str, Any] = {
        "name": f"{exercise.id}: {wording(exercise).label}",
        "output": "\n".join(_feedback(exercise, comment)),
        "visibility": "visible",
        "extra_data": {"exercise": exercise.id, "outcome": exercise.outcome.value},
    }
    if exercise.score is None:
        return case
    if not exercise.is_stretch:
        case |= {"score": round(exercise.score, 4), "max_score": exercise.points}
    passed = exercise.outcome is Outcome.PASSED or exercise.score >= exercise.points > 0
    return case if exercise.is_skipped else case | {"status": "passed" if passed else "failed"}


def _feedback(exercise: ExerciseReport, comment: str) -> list[str]:
    """Return what the student reads about one exercise."""
    lines = [sentence(exercise)]
    if comment:
        lines += ["", "Your instructor's comment", comment]
    for mistake in distinct(exercise.misconceptions):
        lines += ["", f"{mistake.label}: {mistake.title}", mistake.hint]
    if example := exercise.example:
        parts = (("", example.inputs), ("yours", example.yours), ("expected", example.expected))
        lines += ["", f"Example: {example.call}"]
        lines += [text for part in parts for text in part if text]
    for failure in failures(exercise.checks):
        lines += ["", *(f"✗ {title}" for title in failure.titles), failure.message]
    return [*lines, *(["", next_step(exercise)] if next_step(exercise) else [])]
