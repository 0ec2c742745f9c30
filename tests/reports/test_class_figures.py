"""The figures of a class are what an instructor would count by hand."""


import random

import pytest

from autograder.model.report import BY_CHANGE, ExerciseReport, Incident, NamedMistake, Outcome, Report, State
from autograder.reports.class_figures import (
    FEWEST,
    MOST_PER_STUDENT,
    ExerciseFigures,
    bins,
    course_figures,
    figures,
    point_biserial,
    spread,
)
from autograder.reports.terminal import summarise

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


def test_what_the_search_named_is_no_known_mistake() -> None:
    """It is grouped by the change elsewhere; here the answer is one that nothing explains."""
    by_change = NamedMistake(id=f"{BY_CHANGE}another-sign", title="The sign is wrong (line 3)")
    [made] = figures(LESSON, {"a": _mistaken(by_change), "b": _mistaken(ROOT)}).exercises
    assert [each.id for each in made.mistakes] == ["root"]
    assert made.unexplained == ["a"]


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
    two = report([exercise("softmax", Outcome.GRADER_ERROR, draw)])
    [both] = figures(LESSON, {"a": one, "b": two}).exercises
    [only] = figures(LESSON, {"b": two}).exercises
    assert both.mean_share == 1
    assert [(how.label, count) for _, how, count in both.outcomes] == [("correct", 1), ("grader error", 1)]
    assert only.mean_share is None


def test_what_was_graded_by_hand_is_not_to_be_graded() -> None:
    """An answer that waits and one that has its points are counted apart, in words and colours of their own."""
    draw = random.Random(1)
    waits = report([exercise("softmax", Outcome.BY_HAND, draw)])
    [both] = figures(LESSON, {"a": waits, "b": waits.with_scores({"softmax": 1.0})}).exercises
    assert [(name, how.label, count) for name, how, count in both.outcomes] == [
        ("needs-marking", "to be graded", 1), ("by-hand", "graded by hand", 1)
    ]


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
    outcomes = [Outcome.BY_HAND, Outcome.GRADER_ERROR]
    made = report([exercise(name, how, draw) for name, how in zip(POINTS, outcomes, strict=False)])
    found = figures(LESSON, {"a": made, "b": made})
    assert found.by_hand == {
        ("softmax", Outcome.BY_HAND): ["a", "b"],
        ("attention-scores", Outcome.GRADER_ERROR): ["a", "b"],
    }
    assert found.students_by_hand == 2


def test_the_longest_queue_of_answers_to_grade_comes_first() -> None:
    """In a lesson and over all of them: one grader error does not stand above the answers of the whole class."""
    draw = random.Random(1)
    written = exercise("attention-shapes", Outcome.BY_HAND, draw)
    fault = exercise("softmax", Outcome.GRADER_ERROR, draw)
    reports = {"a": report([fault, written]), "b": report([written])}
    assert [exercise for exercise, _ in figures(LESSON, reports).by_hand] == ["attention-shapes", "softmax"]
    assert course_figures({"01_lesson": {"c": report([fault])}, "02_lesson": reports}).queues == [
        ("02_lesson", "attention-shapes", Outcome.BY_HAND, 2),
        ("01_lesson", "softmax", Outcome.GRADER_ERROR, 1),
        ("02_lesson", "softmax", Outcome.GRADER_ERROR, 1),
    ]


def test_one_students_incidents_are_limited() -> None:
    """A few incidents per student are shown, and the rest are counted."""
    flood = [Incident(exercise=None, kind="open", message=str(n)) for n in range(1000)]
    noisy = _scored(20).model_copy(update={"incidents": flood})
    quiet = _scored(20).model_copy(update={"incidents": flood[:1]})
    notes = figures(LESSON, {"a": noisy, "b": quiet}).incidents
    assert len(notes) == MOST_PER_STUDENT + 2
    assert notes[MOST_PER_STUDENT].message == f"and {1000 - MOST_PER_STUDENT} more"
    assert notes[-1].student == "b"


def test_every_incident_is_counted_whether_it_is_shown_or_not() -> None:
    """As in the terminal; a student with many counts with all of them."""
    flood = [Incident(exercise=None, kind="open", message=str(n)) for n in range(30)]
    made = {LESSON: {"a": _scored(20).model_copy(update={"incidents": flood}), "b": _scored(20)}}
    assert course_figures(made).incident_count == figures(LESSON, made[LESSON]).incident_count == 30
    assert summarise(LESSON, made[LESSON]).incidents == 30


def test_what_an_exercise_excludes_is_no_mistake_about_the_subject() -> None:
    """It stands apart, explains the failure, and never heads the mistakes of the class."""
    banned = NamedMistake(id="not-allowed", title="The answer uses `os.system`")
    found = figures(LESSON, {"a": _mistaken(banned), "b": _mistaken(banned), "c": _mistaken(ROOT)})
    assert [each.title for each in found.mistakes] == ["No root"]
    assert [(each.title, each.students) for each in found.excluded] == [("The answer uses `os.system`", ["a", "b"])]
    assert found.exercises[0].unexplained == []


def test_exercises_keep_lesson_order() -> None:
    """The order is that of the reports, not alphabetical."""
    assert [each.id for each in figures(LESSON, sample_class()).exercises] == list(POINTS)


def _answer(name: str, score: float | None, points: float = 2) -> ExerciseReport:
    outcome = Outcome.BY_HAND if score is None else Outcome.FAILED
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
    return ExerciseFigures(LESSON, name, 2, mean, None, graded, pending, [], [], [], [])


def test_what_is_mostly_pending_is_not_called_hard() -> None:
    """One graded answer of 0 % among nine pending says nothing yet; it comes last."""
    made = figures(LESSON, {"a": _scored(20)})
    shown = [_named("why", 0.0, 1, 9), _named("mask", 0.8), _named("softmax", 0.3), _named("cost", None, 0)]
    object.__setattr__(made, "exercises", shown)
    assert [each.id for each in made.hardest] == ["softmax", "mask", "why", "cost"]


RIGHT = [True] * 5 + [False] * 5
OTHERS = [0.9, 0.8, 0.7, 0.6, 0.5, 0.5, 0.4, 0.3, 0.2, 0.1]


def test_a_spread_has_mean_median_and_quartiles() -> None:
    """Of five values, the second and the fourth are the quartiles."""
    made = spread([1.0, 0.0, 0.2, 0.6, 0.4])
    assert made is not None
    assert (made.count, made.low, made.median, made.high) == (5, 0.2, 0.4, 0.6)
    assert made.mean == pytest.approx(0.44)


def test_a_single_value_is_its_own_quartiles_and_none_has_none() -> None:
    """A class of one is not an error."""
    made = spread([0.5])
    assert made is not None
    assert (made.count, made.low, made.median, made.high) == (1, 0.5, 0.5, 0.5)
    assert spread([]) is None


def test_every_share_lies_in_one_bar_and_boundaries_go_right() -> None:
    """Zero is in the first bar, a full score in the last, 10 % in the second."""
    made = bins([0, 0.1, 0.0995, 1, 0.975, 0.6 / 0.2 / 10])
    assert [each.count for each in made] == [2, 1, 0, 1, 0, 0, 0, 0, 0, 2]
    assert max(each.height for each in made) == 1
    assert (made[3].low, made[3].high) == (30, 40)


def test_point_biserial_by_hand() -> None:
    """M1 = 0.7, M0 = 0.3, s² = 0.06, p = q = 0.5: r = 0.4 / √0.06 · 0.5 = 2 / √6."""
    assert point_biserial(RIGHT, OTHERS) == pytest.approx(2 / 6**0.5)
    assert point_biserial([not each for each in RIGHT], OTHERS) == pytest.approx(-2 / 6**0.5)


@pytest.mark.parametrize(
    ("right", "others"),
    [
        ([], []),
        (RIGHT[1:], OTHERS[1:]),
        ([True] * 10, OTHERS),
        ([False] * 10, OTHERS),
        (RIGHT, [0.7] * 10),
    ],
)
def test_without_variation_or_with_few_answers_there_is_no_correlation(
    right: list[bool], others: list[float]
) -> None:
    """None, rather than a number that means nothing."""
    assert len(OTHERS) == FEWEST
    assert point_biserial(right, others) is None


def _earned(share: float, points: float = 20) -> Report:
    made = ExerciseReport(id="softmax", points=points, score=share * points, outcome=Outcome.FAILED)
    return report([made])


def _pending() -> Report:
    return report([exercise("softmax", Outcome.BY_HAND, random.Random(1))])


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
    made = course_figures(_course(a=[_earned(1), _earned(0.5)], b=[_absent(State.UNREADABLE), None]))
    assert [(row.student, list(row.reports)) for row in made.rows] == [
        ("a", ["01_lesson", "02_lesson"]), ("b", ["01_lesson"]),
    ]  # fmt: skip
    assert [row.share for row in made.rows] == [0.75, None]
    assert (made.graded, made.not_opened, made.median) == (2, 1, 0.75)


def test_pending_points_are_in_no_share() -> None:
    """10 of 20 points and 2 pending ones are 50 %."""
    [row] = course_figures(_course(a=[_earned(0.5), _pending()])).rows
    assert row.share == 0.5


def test_zero_missing_and_falling_students_need_help() -> None:
    """The one who lost most lessons comes first; who does well is not listed."""
    steady = [_earned(0.8)] * 4
    made = course_figures(
        _course(
            zero=[_earned(0.8), _earned(0), _earned(0.8), _earned(0.8)],
            gone=[_earned(0.8), _earned(0.8), _absent(), _absent(State.UNREADABLE)],
            falling=[_earned(0.9), _earned(0.9), _earned(0.7), _earned(0.6)],
            waiting=[_earned(0.8), _pending(), _pending(), _pending()],
            **{f"fine{n}": steady for n in range(5)},
        )
    )
    assert [need.row.student for need in made.needs] == ["gone", "zero", "falling"]
    gone, zero, falling = made.needs
    assert gone.missing == {State.ABSENT: ["03_lesson"], State.UNREADABLE: ["04_lesson"]}
    assert zero.zero == ["02_lesson"]
    assert falling.fall == pytest.approx(0.25)  # from +0.1 above the median of 0.8 to -0.15 below
    assert gone.fall == zero.fall == 0


def test_a_missing_submission_counts_once_half_of_the_class_has_handed_in() -> None:
    """While most are still at work on a lesson, nobody is listed for it; afterwards the rest are."""
    here, gone = [_earned(0.8), _earned(0.8)], [_earned(0.8), _absent()]
    assert course_figures(_course(a=here, b=gone, c=gone)).needs == []
    assert [need.row.student for need in course_figures(_course(a=here, b=here, c=gone)).needs] == ["c"]


def test_who_is_far_below_the_class_is_listed_without_a_zero_or_a_fall() -> None:
    """Below half of all points, and far below the median: in a class that finds everything hard, nobody is."""
    fine, weak, half = [_earned(0.8)] * 2, [_earned(0.45)] * 2, [_earned(0.55)] * 2
    (need,) = course_figures(_course(a=fine, b=fine, c=weak, d=half)).needs
    assert (need.row.student, need.is_low, need.zero, need.fall) == ("c", True, [], 0)
    assert course_figures(_course(a=half, b=half, c=weak)).needs == []


def test_a_lesson_that_is_hard_for_all_is_no_fall() -> None:
    """Everybody loses 40 points, and nobody falls."""
    hard = [_earned(0.9), _earned(0.9), _earned(0.5), _earned(0.5)]
    assert course_figures(_course(a=hard, b=hard, c=hard)).needs == []


def test_exercises_of_all_lessons_are_ranked_by_what_was_earned() -> None:
    """The hardest comes first; one that is mostly pending has no rank."""
    made = course_figures(
        _course(a=[_earned(0.9), _earned(0.2), _pending()], b=[_earned(0.7), _earned(0.4), _pending()])
    )
    assert [(each.lesson, each.mean_share) for each in made.exercises] == [
        ("02_lesson", pytest.approx(0.3)), ("01_lesson", pytest.approx(0.8)),
    ]  # fmt: skip
    assert made.by_hand == 2
