"""Scores as comma-separated values, for a learning management system or a spreadsheet."""

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence

from autograder.model.report import Report
from autograder.model.text import clean

TOTALS = ("score", "out_of", "pending", "max", "to_grade", "state", "reason")
# Spreadsheets run a cell that begins with one of these as a formula (OWASP, "CSV Injection").
_PLAIN = re.compile(r"[-+]?\d*([.,]\d+)?")  # a lone dash, or a number, is no formula
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
    exercises = (each for report in reports.values() for each in report.exercises)
    ids = list(dict.fromkeys(each.id for each in exercises if not each.is_stretch))
    rows: list[Sequence[str | float | None]] = [["student", *ids, *TOTALS]]
    for student, report in sorted(reports.items()):
        scores = {each.id: each.score for each in report.exercises if report.is_graded}
        score = None if report.share is None else report.score
        to_grade = " ".join(each.id for each in report.pending_exercises())
        totals = (score, report.graded_points, report.pending, report.max_score, to_grade)
        rows.append([student, *map(scores.get, ids), *totals, report.state.value, report.reason])
    return csv_text(rows)


def csv_text(rows: Iterable[Sequence[str | float | None]]) -> str:
    r"""Return rows as comma-separated values with lines that end in \r\n (RFC 4180).

    Text that a spreadsheet would run as a formula gets a leading apostrophe; a number and a lone dash, as
    Moodle writes for no date, stay as they are. None is an empty cell, and a number is written with at most
    four decimals.
    """
    text = io.StringIO()
    writer = csv.writer(text)
    for row in rows:
        writer.writerow([_cell(value) for value in row])
    return text.getvalue()


def _cell(value: str | float | None) -> str | float:
    """Return a number, an empty cell, or cleaned text that no spreadsheet reads as a formula."""
    if not isinstance(value, str):
        return "" if value is None else round(value, 4)
    # Some spreadsheets trim white space first, so what follows it counts too.
    risky = value.startswith(_FORMULA) or value.strip().startswith(_FORMULA)
    risky = risky and not _PLAIN.fullmatch(value)
    return f"'{clean(value)}" if risky else clean(value)
