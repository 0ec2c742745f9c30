"""Scores as comma-separated values, for a learning management system or a spreadsheet."""

import csv
import io
from collections.abc import Mapping

from autograder.model.report import Report
from autograder.reports.class_figures import exercise_ids
from autograder.reports.words import clean

# Spreadsheets run a cell that begins with one of these as a formula (OWASP, "CSV Injection").
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def scores_csv(reports: Mapping[str, Report]) -> str:
    r"""Return one lesson's scores: student, a column per exercise, total, max, waiting.

    An open score is an empty cell, `waiting` names its exercise, and `total` leaves it out. Names
    that a spreadsheet would run as a formula get a leading apostrophe. Lines end in \r\n
    (RFC 4180): write the text with `newline=""`.
    """
    ids = exercise_ids(reports.values())
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow([*map(_harmless, ("student", *ids)), "total", "max", "waiting"])
    for student in sorted(reports):
        writer.writerow(_row(student, reports[student], ids))
    return text.getvalue()


def _row(student: str, report: Report, ids: list[str]) -> list[str | float]:
    """Return one student's row: an unknown or open score is an empty cell."""
    scores = {each.id: each.score for each in report.exercises}
    cells = [scores.get(exercise_id) for exercise_id in ids]
    still_open = " ".join(each.id for each in report.open_exercises())
    return [
        _harmless(student),
        *("" if score is None else round(score, 4) for score in cells),
        round(report.score, 4),
        report.max_score,
        _harmless(still_open),
    ]


def _harmless(text: str) -> str:
    """Return cleaned text that no spreadsheet reads as a formula."""
    # Some spreadsheets trim white space first, so what follows it counts too.
    risky = text.startswith(_FORMULA) or text.strip().startswith(_FORMULA)
    return f"'{clean(text)}" if risky else clean(text)
