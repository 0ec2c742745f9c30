"""The summary at the end of a class run counts everything, and says where to look."""

import json
import random
from io import StringIO

import pytest
from conftest import REAL_COURSE
from rich.console import Console

from autograder.model.course import Course
from autograder.model.report import ExerciseReport, Outcome, Report, State
from autograder.reports.terminal import print_summary, summarise, summary_json

LESSON = "03_tiny"


def _exercise(name: str, points: float, score: float | None, outcome: Outcome) -> ExerciseReport:
    return ExerciseReport(id=name, points=points, score=score, outcome=outcome)


def _graded(earned: float, *, by_hand: Outcome | None = Outcome.BY_HAND) -> Report:
    """Return a report of 10 points checked, and 10 more that are pending unless there are none."""
    exercises = [
        _exercise("double", 10, earned, Outcome.PASSED if earned == 10 else Outcome.FAILED)
    ]
    if by_hand:
        exercises.append(_exercise("why", 10, None, by_hand))
    most = sum(each.points for each in exercises)
    return Report(lesson=LESSON, score=earned, max_score=most, exercises=exercises)


def _state(state: State, reason: str = "") -> Report:
    return Report(lesson=LESSON, score=0, max_score=20, exercises=[], state=state, reason=reason)


REPORTS = {
    "ada": _graded(10),
    "bela": _graded(5, by_hand=None),
    "carl": _state(State.UNREADABLE, "it is not valid JSON"),
    "dora": _state(State.WRONG_FILE),
    "emil": _state(State.ABSENT),
}  # fmt: skip


def _printed(course: Course, reports: dict[str, Report]) -> str:
    text = StringIO()
    print_summary(course, {LESSON: reports}, Console(file=text, width=80))
    return text.getvalue()


def test_the_mean_is_of_what_has_been_graded() -> None:
    """Pending points count neither as earned nor as lost; what was not graded counts nowhere."""
    found = summarise(LESSON, REPORTS)
    assert (found.graded, found.pending, found.mean) == (2, 1, 0.75)
    assert list(found.failed) == ["carl", "dora"]
    assert found.absent == ["emil"]
    assert summarise(LESSON, {"emil": REPORTS["emil"]}).mean is None


def test_the_name_of_a_lesson_is_in_one_piece() -> None:
    """At 80 columns, for every lesson of the course."""
    text = StringIO()
    reports = dict.fromkeys(REAL_COURSE.lessons(), REPORTS)
    print_summary(REAL_COURSE, reports, Console(file=text, width=80))
    firsts = {line.split()[0] for line in text.getvalue().splitlines() if line.strip()}
    assert firsts >= set(REAL_COURSE.lessons())


def test_a_row_has_every_count_and_failures_are_named(course: Course) -> None:
    """Graded, failed, absent, pending, incidents, mean; then who failed, and why."""
    text = _printed(course, REPORTS)
    row = next(line for line in text.splitlines() if line.strip().startswith(LESSON))
    assert row.split() == [LESSON, "2", "2", "1", "1", "0", "75", "%"]
    assert f"{LESSON}, carl: unreadable (it is not valid JSON)" in text
    assert f"{LESSON}, dora: wrong file" in text


def test_only_places_with_something_to_see_are_named(course: Course) -> None:
    """The command for written answers if points are pending; the log of errors if the grader failed."""
    done = _printed(course, {"bela": REPORTS["bela"]})
    assert "reports/class.html" in done
    assert "autograder written" not in done
    assert "grader-errors.log" not in done
    assert "Could not be graded" not in done
    assert "autograder written" in _printed(course, REPORTS)
    fault = {"ada": _graded(10, by_hand=Outcome.GRADER_ERROR)}
    assert "reports/grader-errors.log" in _printed(course, fault)


def test_many_failures_are_counted(course: Course) -> None:
    """Ten are named; a class of unreadable files does not fill the terminal."""
    names = random.Random(1).sample(range(100, 1000), 25)
    text = _printed(course, {f"s{number}": _state(State.UNREADABLE) for number in names})
    assert text.count("unreadable") == 10
    assert "and 15 more" in text


def test_a_program_reads_the_same_numbers(course: Course) -> None:
    """--json is one document, with the reason of each failure and the files."""
    written = [course.reports / "class.html"]
    document = json.loads(summary_json(course, {LESSON: REPORTS}, written))
    assert document["written"] == ["reports/class.html"]
    (lesson,) = document["lessons"]
    assert lesson["mean"] == pytest.approx(0.75)
    assert lesson["failed"][0] == {
        "student": "carl", "state": "unreadable", "reason": "it is not valid JSON",
    }  # fmt: skip
    assert {key: lesson[key] for key in ("lesson", "graded", "pending", "absent")} == {
        "lesson": LESSON, "graded": 2, "pending": 1, "absent": ["emil"],
    }  # fmt: skip
