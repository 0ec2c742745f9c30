"""The CSV file of scores, as a spreadsheet or a learning management system reads it."""

import csv
import io
import random

import pytest

from autograder.model.report import Outcome, Report
from autograder.reports.csv_file import scores_csv

from .sample_class import POINTS, exercise, report, sample_class


def _rows(reports: dict[str, Report]) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(scores_csv(reports), newline="")))


def test_every_student_has_a_row_with_every_score() -> None:
    """The file holds the reports' numbers, with students in order."""
    made = sample_class()
    rows = _rows(made)
    assert [row["student"] for row in rows] == sorted(made)
    for row in rows:
        of = made[row["student"]]
        assert float(row["score"] or 0) == pytest.approx(of.score, abs=1e-4)
        assert float(row["out_of"]) + float(row["pending"]) == float(row["max"])
        for name in POINTS:
            score = of.exercise(name).score
            read = float(row[name]) if row[name] else None
            assert read == (None if score is None else pytest.approx(score, abs=1e-4))


def test_pending_scores_are_empty_and_named() -> None:
    """A pending score is not zero, and a column names its exercise."""
    draw = random.Random(1)
    outcomes = [Outcome.PASSED, Outcome.GRADER_ERROR, Outcome.BY_HAND, Outcome.UNANSWERED]
    made = report([exercise(name, how, draw) for name, how in zip(POINTS, outcomes, strict=False)])
    row = _rows({"ada": made})[0]
    assert (float(row["softmax"]), float(row["padding-mask"])) == (2, 0)
    assert (row["attention-scores"], row["causal-mask"]) == ("", "")
    assert row["to_grade"] == "attention-scores causal-mask"
    assert [float(row[name]) for name in ("score", "out_of", "pending", "max")] == [2, 4, 5, 9]


@pytest.mark.parametrize("sign", ["=", "+", "-", "@", "\t=", " =", "\n@", "＝"])
def test_no_name_is_run_as_a_formula(sign: str) -> None:
    """A name that a spreadsheet would run gets a leading apostrophe."""
    name = f"{sign}cmd|' /C calc'!A0"
    cell = _rows({name: report([])})[0]["student"]
    assert cell.startswith("'")
    assert cell.endswith("!A0")


def test_a_plain_name_and_one_with_a_comma_come_back_as_they_are() -> None:
    """Only the csv module's quoting is added."""
    names = ["o'neill", 'a "b", c', "zoë"]
    assert [row["student"] for row in _rows(dict.fromkeys(names, report([])))] == sorted(names)


def test_reports_with_different_exercises_share_one_header() -> None:
    """An exercise that a report lacks is an empty cell."""
    draw = random.Random(1)
    one = report([exercise("softmax", Outcome.PASSED, draw)])
    two = report([exercise("causal-mask", Outcome.PASSED, draw)])
    rows = _rows({"a": one, "b": two})
    assert (rows[0]["causal-mask"], rows[1]["softmax"]) == ("", "")


def test_no_reports_give_a_header_alone() -> None:
    """The file of an empty class still opens."""
    assert scores_csv({}) == "student,score,out_of,pending,max,to_grade,state,reason\r\n"
