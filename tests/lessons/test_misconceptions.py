"""Every known mistake costs marks, is named as itself, and costs no other exercise anything."""

from collections.abc import Callable
from itertools import combinations, zip_longest
from pathlib import Path
from random import Random

import nbformat
import pytest
from conftest import ROOT, solve

from autograder.course import Course
from autograder.judge.diagnose import Evidence, diagnose
from autograder.judge.exercise import Exercise, Misconception
from autograder.judge.judgement import Seen
from autograder.judge.workbench import Workbench
from autograder.lessons import load_lesson
from autograder.marker import Marker, workbench

COURSE = Course(ROOT)
LESSONS = COURSE.lessons()
PAIRS = 6  # a sample: of many pairs one edit takes away the other's place
SUBMISSIONS = 12  # a sample: each mistake alone is tried above, in this process
CODE = [(name, ex.id) for name in LESSONS for ex in load_lesson(name).exercises if not ex.written]
MISTAKES = [
    pytest.param(name, ex.id, mistake.id, id=f"{name[:2]}-{ex.id}-{mistake.id}")
    for name in LESSONS
    for ex in load_lesson(name).exercises
    for mistake in ex.misconceptions
]


def evidence(
    bench: Workbench, exercise: Exercise, mistakes: list[Misconception], seed: int
) -> list[Evidence]:
    """Try an edited model answer on every case, in this process."""
    namespace = bench.edited(exercise, mistakes)
    if namespace is None:
        return []
    found = []
    for case in exercise.cases:
        stimulus = exercise.stimulus(case, seed)
        expected = bench.expected(exercise, stimulus)
        got = bench.observe(namespace, stimulus, watched=True)
        forbidden = got.library & exercise.forbidden.keys()
        passed = case.judge(Seen(stimulus.inputs, got, expected)).passed and not forbidden
        found.append(Evidence(case, stimulus, got, expected, passed))
    return found


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(("lesson", "exercise"), CODE)
def test_the_model_answer_passes_every_check(lesson: str, exercise: str, seed: int) -> None:
    """Whatever is drawn, the model answer agrees with the independent reference."""
    bench = workbench(COURSE, lesson)
    wrong = [
        item.stimulus.inputs
        for item in evidence(bench, bench.lesson[exercise], [], seed)
        if not item.passed
    ]
    assert not wrong


@pytest.mark.parametrize(("lesson", "exercise", "mistake"), MISTAKES)
def test_a_mistake_fails_and_is_named(lesson: str, exercise: str, mistake: str) -> None:
    """Handed in alone, a misconception fails a check and is named as itself, and nothing else."""
    bench = workbench(COURSE, lesson)
    made = next(m for m in bench.lesson[exercise].misconceptions if m.id == mistake)
    seen = evidence(bench, bench.lesson[exercise], [made], 1)
    assert not all(item.passed for item in seen), "no check notices it"
    named = [m.id for m in diagnose(bench, bench.lesson[exercise], seen)]
    assert len(named) == 1
    assert named[0] in {mistake, *made.same_as}


@pytest.mark.parametrize(("lesson", "exercise"), CODE)
def test_two_mistakes_at_once_are_both_named_as_a_rule(lesson: str, exercise: str) -> None:
    """Of pairs of mistakes, at least one is nearly always named, and mostly both are."""
    bench = workbench(COURSE, lesson)
    checks = bench.lesson[exercise]
    pairs = list(combinations(checks.misconceptions, 2))
    scores = []
    for pair in Random(4).sample(pairs, min(40, len(pairs))):
        seen = evidence(bench, checks, list(pair), 3)
        if seen and not all(item.passed for item in seen):
            named = {m.id for m in diagnose(bench, checks, seen)}
            scores.append(sum(bool(named & {m.id, *m.same_as}) for m in pair) / 2)
        if len(scores) == PAIRS:
            break
    assert len(scores) < PAIRS or sum(scores) / PAIRS >= 0.5


@pytest.mark.parametrize(("lesson", "exercise"), CODE)
def test_there_are_enough_misconceptions(lesson: str, exercise: str) -> None:
    """Larger exercises know at least six ways to go wrong, smaller ones three."""
    checks = load_lesson(lesson)[exercise]
    assert len(checks.misconceptions) >= (6 if checks.points >= 3 else 3)


@pytest.mark.slow
@pytest.mark.parametrize("lesson", LESSONS)
def test_mistakes_handed_in_together_are_each_named(
    lesson: str, marker: Marker, tmp_path: Path
) -> None:
    """With one mistake in every exercise at once, each is still named: upstream parts are replaced."""
    checks = load_lesson(lesson)
    path = tmp_path / f"{lesson}.ipynb"
    rows = list(zip_longest(*(ex.misconceptions for ex in checks.exercises if ex.misconceptions)))
    for row in Random(6).sample(rows, min(SUBMISSIONS, len(rows))):
        faulty = [ex for ex in checks.exercises if ex.misconceptions]
        made = {ex.id: mistake for ex, mistake in zip(faulty, row, strict=True) if mistake}
        nbformat.write(solve(COURSE, lesson, {key: m.apply for key, m in made.items()}), path)
        report = marker.mark(lesson, path).report
        for exercise in checks.exercises:
            told = report.exercise(exercise.id)
            if exercise.id not in made:
                assert told.score in (exercise.points, None), told
                continue
            assert told.score is not None
            assert told.score < exercise.points
            named = {m.id for m in told.misconceptions}
            assert named & {made[exercise.id].id, *made[exercise.id].same_as}, (exercise.id, told)


@pytest.mark.parametrize("lesson", LESSONS)
def test_model_answers_get_everything(
    lesson: str, marker: Marker, hand_in: Callable[..., Path]
) -> None:
    """The model answers get full marks; what a person has to mark is left open."""
    report = marker.mark(lesson, hand_in(lesson)).report
    waiting = sum(exercise.points for exercise in report.waiting())
    assert [ex.id for ex in report.exercises if ex.score not in (ex.points, None)] == []
    assert report.score + waiting == report.max_score == 20


@pytest.mark.parametrize("lesson", LESSONS)
def test_the_release_as_it_is_gets_nothing(lesson: str, marker: Marker, course: Course) -> None:
    """The untouched release gets 0, and every exercise is unanswered."""
    report = marker.mark(lesson, course.release_notebook(lesson)).report
    assert report.score == 0
    assert {exercise.outcome for exercise in report.exercises} == {"unanswered"}
