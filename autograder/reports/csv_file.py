"""Marks as comma-separated values, for a learning management system or a spreadsheet."""

import csv
import io
from collections.abc import Mapping

from autograder.reports.class_figures import exercise_ids
from autograder.reports.words import clean
from autograder.results import Report

# A cell that begins so is run as a formula by spreadsheets (OWASP, "CSV Injection").
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def marks_csv(reports: Mapping[str, Report]) -> str:
    r"""Return one lesson's marks: student, a column per exercise, total, max, waiting.

    A score that waits for a person is an empty cell, and `waiting` names its exercise; `total` is
    then what is certain so far. Names that a spreadsheet would run as a formula get a leading
    apostrophe. Lines end in \r\n (RFC 4180): write the text with `newline=""`.
    """
    ids = exercise_ids(reports.values())
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow([*map(_harmless, ("student", *ids)), "total", "max", "waiting"])
    for student in sorted(reports):
        writer.writerow(_row(student, reports[student], ids))
    return text.getvalue()


def _row(student: str, report: Report, ids: list[str]) -> list[str | float]:
    """Return one student's line: an unknown or open score is an empty cell."""
    scores = {each.id: each.score for each in report.exercises}
    cells: list[str | float] = [_harmless(student)]
    for exercise_id in ids:
        score = scores.get(exercise_id)
        cells.append("" if score is None else round(score, 4))
    waiting = " ".join(each.id for each in report.waiting())
    return [*cells, round(report.score, 4), report.max_score, _harmless(waiting)]


def _harmless(text: str) -> str:
    """Return the text, cleaned, and kept from being read as a formula."""
    # The first characters decide, whatever white space a spreadsheet trims before them.
    risky = text.startswith(_FORMULA) or text.strip().startswith(_FORMULA)
    return f"'{clean(text)}" if risky else clean(text)
