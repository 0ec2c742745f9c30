"""Scores as comma-separated values, for a learning management system or a spreadsheet."""

import csv
import io
from collections.abc import Mapping

from autograder.model.report import Report
from autograder.model.text import clean
from autograder.reports.class_figures import counted_ids

TOTALS = ("score", "out_of", "pending", "max", "to_grade", "state", "reason")
# Spreadsheets run a cell that begins with one of these as a formula (OWASP, "CSV Injection").
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def scores_csv(reports: Mapping[str, Report]) -> str:
    r"""Return one lesson's scores: a row for each student, a column for each exercise, and totals.

    Stretch exercises have no column.

    | column | holds |
    |---|---|
    | score | the points earned, out of those graded so far |
    | out_of | the points graded so far |
    | pending | the points still to be graded by hand |
    | max | the points of the lesson |
    | to_grade | the exercises to be graded by hand |
    | state | graded, unreadable, wrong-file or absent |
    | reason | why nothing was graded |

    A score that has not been given is an empty cell, never 0. Text that a spreadsheet would run as a
    formula gets a leading apostrophe. Lines end in \r\n (RFC 4180): write the text with `newline=""`.
    """
    ids = counted_ids(reports.values())
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow([*map(_harmless, ("student", *ids)), *TOTALS])
    for student in sorted(reports):
        writer.writerow(_row(student, reports[student], ids))
    return text.getvalue()


def _row(student: str, report: Report, ids: list[str]) -> list[str | float]:
    """Return one student's row: a score that was not given is an empty cell."""
    scores = {each.id: each.score for each in report.exercises if report.is_graded}
    cells = [scores.get(exercise_id) for exercise_id in ids]
    to_grade = " ".join(each.id for each in report.pending_exercises())
    return [
        _harmless(student),
        *("" if score is None else round(score, 4) for score in cells),
        "" if report.share is None else round(report.score, 4),
        *(report.graded_points, report.pending, report.max_score),
        _harmless(to_grade),
        report.state.value,
        _harmless(report.reason),
    ]


def _harmless(text: str) -> str:
    """Return cleaned text that no spreadsheet reads as a formula."""
    # Some spreadsheets trim white space first, so what follows it counts too.
    risky = text.startswith(_FORMULA) or text.strip().startswith(_FORMULA)
    return f"'{clean(text)}" if risky else clean(text)
