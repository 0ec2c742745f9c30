"""The figures of the class page follow from the reports."""

import random

import pytest

from autograder.model.report import ExerciseReport, Incident, NamedMistake, Outcome, Report
from autograder.reports.class_figures import MOST_PER_STUDENT, ExerciseFigures, exercise_ids, figures

from .sample_class import LESSON, POINTS, exercise, report, sample_class

ROOT = NamedMistake(id="root", title="No root")
SHIFT = NamedMistake(id="shift", title="No shift")


def _scored(score: float, points: float = 20) -> Report:
    outcome = Outcome.PASSED if score == points else Outcome.FAILED
    return report([ExerciseReport(id="softmax", points=points, score=score, outcome=outcome)])


def _mistaken(*mistakes: NamedMistake) -> Report:
    made = ExerciseReport(
        id="softmax", points=2, score=0, outcome=Outcome.FAILED, misconceptions=list(mistakes)
    )
    return report([made])


def test_mean_and_median_are_over_submissions() -> None:
    """An outlier moves the mean and leaves the median; both are shares of the points."""
    made = figures(LESSON, {"a": _scored(0), "b": _scored(18), "c": _scored(20)})
    assert made.spread is not None
    assert made.spread.mean == pytest.approx(38 / 60)
    assert made.spread.median == pytest.approx(0.9)
    assert made.graded == 3


def test_bars_hold_the_whole_class() -> None:
    """Every student of whom something was graded is counted."""
    made = sample_class(100)
    graded = [report for report in made.values() if report.share is not None]
    assert sum(each.count for each in figures(LESSON, made).bins) == len(graded) > 90


def test_a_pending_score_is_not_zero_in_the_difficulty() -> None:
    """The mean share leaves out what is still to be graded by hand."""
    draw = random.Random(1)
    one = report([exercise("softmax", Outcome.PASSED, draw)])
    two = report([exercise("softmax", Outcome.GRADER_FAULT, draw)])
    [both] = figures(LESSON, {"a": one, "b": two}).exercises
    [only] = figures(LESSON, {"b": two}).exercises
    assert both.mean_share == 1
    assert both.outcomes == [(Outcome.PASSED, 1), (Outcome.GRADER_FAULT, 1)]
    assert only.mean_share is None


def test_mistakes_are_counted_once_a_student_and_sorted() -> None:
    """The most common comes first, with every student who made it."""
    made = figures(
        LESSON,
        {"a": _mistaken(SHIFT), "b": _mistaken(ROOT, ROOT), "c": _mistaken(SHIFT, ROOT),
         "d": _mistaken(ROOT), "e": _scored(20)},
    )  # fmt: skip
    assert [(each.title, each.students) for each in made.mistakes] == [
        ("No root", ["b", "c", "d"]),
        ("No shift", ["a", "c"]),
    ]
    assert made.mistakes[0].share == pytest.approx(0.6)


def test_a_failure_without_a_known_mistake_is_listed() -> None:
    """The lecturer can look up whose failure matches no known mistake."""
    [softmax] = figures(LESSON, {"a": _scored(3), "b": _mistaken(ROOT)}).exercises
    assert softmax.unexplained == ["a"]


def test_answers_to_grade_by_hand_are_listed_by_exercise_and_reason() -> None:
    """Written answers and grader errors are separate; students count once."""
    draw = random.Random(1)
    outcomes = [Outcome.NEEDS_MARKING, Outcome.GRADER_FAULT]
    made = report([exercise(name, how, draw) for name, how in zip(POINTS, outcomes, strict=False)])
    found = figures(LESSON, {"a": made, "b": made})
    assert [(each.exercise, each.outcome, each.students) for each in found.by_hand] == [
        ("softmax", Outcome.NEEDS_MARKING, ["a", "b"]),
        ("attention-scores", Outcome.GRADER_FAULT, ["a", "b"]),
    ]
    assert found.students_by_hand == 2


def test_one_students_incidents_are_limited() -> None:
    """A few incidents per student are shown, and the rest are counted."""
    flood = [Incident(exercise=None, kind="open", message=str(n)) for n in range(1000)]
    noisy = _scored(20).model_copy(update={"incidents": flood})
    quiet = _scored(20).model_copy(update={"incidents": flood[:1]})
    notes = figures(LESSON, {"a": noisy, "b": quiet}).incidents
    assert len(notes) == MOST_PER_STUDENT + 2
    assert notes[MOST_PER_STUDENT].message == f"and {1000 - MOST_PER_STUDENT} more"
    assert notes[-1].student == "b"


def test_exercises_keep_lesson_order() -> None:
    """The order is that of the reports, not alphabetical."""
    assert exercise_ids(sample_class().values()) == list(POINTS)


def _answer(name: str, score: float | None, points: float = 2) -> ExerciseReport:
    outcome = Outcome.NEEDS_MARKING if score is None else Outcome.FAILED
    return ExerciseReport(id=name, points=points, score=score, outcome=outcome)


def test_discrimination_leaves_the_exercise_and_what_is_pending_out_of_the_rest() -> None:
    """Five with full points have 0.9 to 0.5 of the rest, five without 0.5 to 0.1: r = 2 / √6."""
    rest = [9, 8, 7, 6, 5, 5, 4, 3, 2, 1]
    scores = [2, 2, 2, 2, 2, 1.5, 1, 0, 0, 0]
    made = {
        f"s{n}": report([_answer("softmax", score), _answer("mask", of_rest, 10), _answer("why", None)])
        for n, (score, of_rest) in enumerate(zip(scores, rest, strict=True))
    }
    softmax, _, why = figures(LESSON, made).exercises
    assert softmax.discrimination == pytest.approx(2 / 6**0.5)
    assert why.discrimination is None


def _named(name: str, mean: float | None, graded: int = 5, pending: int = 0) -> ExerciseFigures:
    return ExerciseFigures(name, 2, mean, None, graded, pending, [], [])


def test_what_is_mostly_pending_is_not_called_hard() -> None:
    """One graded answer of 0 % among nine pending says nothing yet; it comes last."""
    made = figures(LESSON, {"a": _scored(20)})
    shown = [_named("why", 0.0, 1, 9), _named("mask", 0.8), _named("softmax", 0.3), _named("cost", None, 0)]
    object.__setattr__(made, "exercises", shown)
    assert [each.id for each in made.hardest] == ["softmax", "mask", "why", "cost"]
