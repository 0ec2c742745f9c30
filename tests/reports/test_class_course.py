"""The figures of a course follow from the reports of its lessons."""

import random

import pytest

from autograder.model.report import ExerciseReport, Outcome, Report, State
from autograder.reports.class_course import course_figures

from .sample_class import exercise, report


def _scored(share: float, points: float = 20) -> Report:
    made = ExerciseReport(id="softmax", points=points, score=share * points, outcome=Outcome.FAILED)
    return report([made])


def _pending() -> Report:
    return report([exercise("softmax", Outcome.NEEDS_MARKING, random.Random(1))])


def _absent(state: State = State.ABSENT) -> Report:
    return report([]).with_file(state, "", [])


def _course(**students: list[Report | None]) -> dict[str, dict[str, Report]]:
    """Return lesson to student to report from one list of lessons for each student."""
    count = max(map(len, students.values()))
    return {
        f"{n + 1:02d}_lesson": {name: made for name, all_ in students.items() if (made := all_[n])}
        for n in range(count)
    }


def test_every_student_has_a_row_with_what_is_known() -> None:
    """A lesson that was not graded is absent from the row; an unreadable one is in it."""
    made = course_figures(_course(a=[_scored(1), _scored(0.5)], b=[_absent(State.UNREADABLE), None]))
    assert [(row.student, list(row.reports)) for row in made.rows] == [
        ("a", ["01_lesson", "02_lesson"]), ("b", ["01_lesson"]),
    ]  # fmt: skip
    assert [row.share for row in made.rows] == [0.75, None]
    assert (made.graded, made.not_opened, made.median) == (2, 1, 0.75)


def test_pending_points_are_in_no_share() -> None:
    """10 of 20 points and 2 pending ones are 50 %."""
    [row] = course_figures(_course(a=[_scored(0.5), _pending()])).rows
    assert (row.share, row.pending) == (0.5, 2)


def test_zero_missing_and_falling_students_need_help() -> None:
    """The one who lost most lessons comes first; who does well is not listed."""
    steady = [_scored(0.8)] * 4
    made = course_figures(
        _course(
            zero=[_scored(0.8), _scored(0), _scored(0.8), _scored(0.8)],
            gone=[_scored(0.8), _scored(0.8), _absent(), _absent(State.UNREADABLE)],
            falling=[_scored(0.9), _scored(0.9), _scored(0.7), _scored(0.6)],
            waiting=[_scored(0.8), _pending(), _pending(), _pending()],
            **{f"fine{n}": steady for n in range(5)},
        )
    )
    assert [need.row.student for need in made.needs] == ["gone", "zero", "falling"]
    gone, zero, falling = made.needs
    assert gone.missing == {State.ABSENT: ["03_lesson"], State.UNREADABLE: ["04_lesson"]}
    assert zero.zero == ["02_lesson"]
    assert falling.fall == pytest.approx(0.25)  # from +0.1 above the median of 0.8 to -0.15 below
    assert gone.fall == zero.fall == 0


def test_a_lesson_that_is_hard_for_all_is_no_fall() -> None:
    """Everybody loses 40 points, and nobody falls."""
    hard = [_scored(0.9), _scored(0.9), _scored(0.5), _scored(0.5)]
    assert course_figures(_course(a=hard, b=hard, c=hard)).needs == []


def test_exercises_of_all_lessons_are_ranked_by_what_was_earned() -> None:
    """The hardest comes first; one that is mostly pending has no rank."""
    made = course_figures(
        _course(a=[_scored(0.9), _scored(0.2), _pending()], b=[_scored(0.7), _scored(0.4), _pending()])
    )
    assert [(each.lesson, each.figures.mean_share) for each in made.exercises] == [
        ("02_lesson", pytest.approx(0.3)), ("01_lesson", pytest.approx(0.8)),
    ]  # fmt: skip
    assert made.by_hand == 2
