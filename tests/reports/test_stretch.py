"""A stretch exercise has no points: it is reported like any other, and counts nowhere."""

import csv
import io
import random
from datetime import datetime

import pytest
from rich.console import Console

from autograder.model.report import ExerciseReport, Outcome, Report
from autograder.reports.class_pages import class_pages
from autograder.reports.csv_file import scores_csv
from autograder.reports.student_pages import feedback_page
from autograder.reports.terminal import print_report
from autograder.reports.words import STRETCH, WORDING

from .hostile import Tags
from .sample_class import LESSON, exercise, report
from .sample_work import work


def _stretch(outcome: Outcome) -> ExerciseReport:
    return ExerciseReport(id="attention-cost", points=0, score=0, outcome=outcome)


def _with_stretch(outcome: Outcome) -> Report:
    """Make a report of one right answer for two points, and a stretch exercise."""
    right = exercise("softmax", Outcome.PASSED, random.Random(1))
    return report([right, _stretch(outcome)])


@pytest.mark.parametrize("outcome", [Outcome.PASSED, Outcome.FAILED, Outcome.UNANSWERED, Outcome.MISSING])
def test_without_it_a_notebook_is_still_perfect(outcome: Outcome) -> None:
    """Its page neither counts it nor says "0 of 0 points"; one that was left alone needs nothing done."""
    page = feedback_page(work(_with_stretch(outcome)))
    assert "All 1 exercise correct" in Tags(page).text
    assert "0 of 0" not in page
    assert STRETCH in page or outcome in (Outcome.UNANSWERED, Outcome.MISSING)
    assert ("optional, left as it was" in page) is (outcome in (Outcome.UNANSWERED, Outcome.MISSING))


@pytest.mark.parametrize(
    ("outcome", "advised"), [(Outcome.FAILED, True), (Outcome.UNANSWERED, False)]
)
def test_the_table_gives_advice_on_an_attempt_only(outcome: Outcome, *, advised: bool) -> None:
    """One that was left alone is optional; a wrong one is explained like any other."""
    console = Console(record=True, width=80, file=io.StringIO())
    print_report(_with_stretch(outcome), console)
    table, below = console.export_text().split("Score: 2 of 2 points")
    line = next(line for line in table.splitlines() if "attention-cost" in line)
    assert "not counted" in line
    assert ("optional" in line) is not advised
    assert ("attention-cost" in below) is advised


def test_a_spreadsheet_of_scores_has_no_column_for_it() -> None:
    """Nobody can take its 0 for a lost point."""
    rows = list(csv.DictReader(io.StringIO(scores_csv({"ada": _with_stretch(Outcome.PASSED)}))))
    assert "attention-cost" not in rows[0]
    assert [float(rows[0][name]) for name in ("softmax", "score", "max")] == [2, 2, 2]


def test_the_class_page_shows_how_it_ended_instead_of_a_score() -> None:
    """The exercise is listed without a mean, and the table of scores shows a sign."""
    made = class_pages(
        {LESSON: {"ada": _with_stretch(Outcome.PASSED)}},
        answers={},
        sandboxed=True,
        made_at=datetime(2026, 3, 4, 9, 30),
    )
    page, front = made[f"class-{LESSON}.html"], made["class.html"]
    assert STRETCH in Tags(page).text
    assert page.count('<span class="barred">') == 1  # that of softmax
    assert f"<td>{WORDING[Outcome.PASSED].sign}" in page
    assert "attention-cost" not in front
