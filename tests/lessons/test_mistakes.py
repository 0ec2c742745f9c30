"""Known mistakes are named, two at once too, and cost no other exercise anything."""

from collections.abc import Callable
from itertools import combinations, zip_longest
from pathlib import Path
from random import Random

import nbformat
import pytest
from conftest import ROOT, solve
from keys import KEY
from mutants import answer_with, evidence, grade_mistake

from autograder.authoring.examples import make_examples
from autograder.grading.grader import Grader
from autograder.judge.diagnose import diagnose
from autograder.judge.oracle import Oracle
from autograder.lessons.loading import load_lesson
from autograder.model.course import Course
from autograder.model.draw import PUBLIC_KEY
from autograder.model.exercise import Exercise

COURSE = Course(ROOT)
LESSONS = COURSE.lessons()
PAIRS = 20  # a sample: in many pairs, one edit removes the other's place
SUBMISSIONS = 2  # a sample: each mistake alone is tried in this process
ORACLES = {name: Oracle(load_lesson(COURSE, name), KEY) for name in LESSONS}
EXERCISES = [
    pytest.param(ORACLES[name], exercise, id=f"{name[:2]}-{exercise.id}")
    for name in LESSONS
    for exercise in ORACLES[name].lesson.exercises
    if not exercise.written
]


@pytest.mark.parametrize(("oracle", "exercise"), EXERCISES)
def test_the_model_answer_passes_every_check(oracle: Oracle, exercise: Exercise) -> None:
    """Whatever is drawn, the model answer agrees with the independent reference."""
    failed = [item.check.id for item in evidence(oracle, exercise, []) if not item.passed]
    assert failed == []


@pytest.mark.parametrize(
    ("lesson", "exercise", "likelier", "other"),
    [
        ("02_positional_encoding", "positional-encoding", "too-long-not-refused", "batch-limited"),
        ("02_positional_encoding", "learned-position", "too-long-not-refused", "batch-limited"),
        ("02_positional_encoding", "sinusoidal-encoding", "float64", "default-dtype-set"),
        ("02_positional_encoding", "shift-matrix", "float64", "default-dtype-set"),
        ("06_decoder", "decoder", "masks-exchanged", "memory-replaced"),
    ],
)
def test_of_two_that_no_example_tells_apart_the_likelier_comes_first(
    lesson: str, exercise: str, likelier: str, other: str
) -> None:
    """The notebook names the first, and the other only beside it."""
    order = [mistake.id for mistake in ORACLES[lesson].lesson[exercise].mistakes]
    assert order.index(likelier) < order.index(other)


@pytest.mark.parametrize(
    ("lesson", "exercise", "source", "named"),
    [
        ("02_positional_encoding", "shift-matrix", "def shift_matrix(k, n):\n    return torch.eye(n)", "identity"),
        ("02_positional_encoding", "shift-matrix", "def shift_matrix(k, n):\n    return torch.zeros(n, n)", "nothing-filled"),
        (
            "02_positional_encoding",
            "sinusoidal-encoding",
            "def sinusoidal_encoding(n, d):\n    if d % 2: raise ValueError\n    return torch.zeros(n, d)",
            "nothing-filled",
        ),
        ("03_attention", "causal-mask", "def causal_mask(n):\n    return torch.zeros(n, n).bool()", "nothing-seen"),
    ],
)
def test_a_placeholder_has_a_name_of_its_own(lesson: str, exercise: str, source: str, named: str) -> None:
    """In the notebook as in grading: it isn't the work of two mistakes in lines that are not there."""
    asked = ORACLES[lesson].lesson[exercise]
    assert grade_mistake(ORACLES[lesson], asked, answer_with(asked, source))["named"] == [named]
    assert (named,) in make_examples(Oracle(ORACLES[lesson].lesson, PUBLIC_KEY), asked).signatures


@pytest.mark.full("pairs of mistakes: minutes of processor time")
@pytest.mark.parametrize(("oracle", "exercise"), EXERCISES)
def test_of_two_mistakes_at_once_at_least_every_second_is_named(
    oracle: Oracle, exercise: Exercise
) -> None:
    """In a sample of pairs that can be told from the model answer, half of the mistakes are named."""
    pairs = list(combinations(exercise.mistakes, 2))
    scores = []
    for pair in Random(4).sample(pairs, min(40, len(pairs))):
        seen = evidence(oracle, exercise, list(pair))
        if seen and not all(item.passed for item in seen):
            named = {mistake.id for mistake in diagnose(oracle, exercise, seen)}
            scores.append(sum(bool(named & {m.id, *m.same_as}) for m in pair) / 2)
        if len(scores) == PAIRS:
            break
    assert len(scores) < PAIRS or sum(scores) / PAIRS >= 0.5


@pytest.mark.full("whole notebooks of mistakes, in the sandbox", seconds=20)
@pytest.mark.parametrize("lesson", LESSONS)
def test_mistakes_handed_in_together_are_each_named(
    lesson: str, grader: Grader, tmp_path: Path
) -> None:
    """With one mistake in every exercise at once, each is still named: earlier parts are replaced."""
    exercises = ORACLES[lesson].lesson.exercises
    faulty = [exercise for exercise in exercises if exercise.mistakes and exercise.points]
    path = tmp_path / f"{lesson}.ipynb"
    rows = list(zip_longest(*(exercise.mistakes for exercise in faulty)))
    for row in Random(6).sample(rows, min(SUBMISSIONS, len(rows))):
        made = {ex.id: mistake for ex, mistake in zip(faulty, row, strict=True) if mistake}
        nbformat.write(solve(COURSE, lesson, {key: m.apply for key, m in made.items()}), path)
        report = grader.grade(lesson, path).report
        for exercise in exercises:
            told = report.exercise(exercise.id)
            if exercise.id not in made:
                assert told.score in (exercise.points, None), told
                continue
            assert told.score is not None
            assert told.score < exercise.points
            named = {mistake.id for mistake in told.misconceptions}
            assert named & {made[exercise.id].id, *made[exercise.id].same_as}, (exercise.id, told)


@pytest.mark.parametrize("lesson", LESSONS)
def test_model_answers_get_everything(
    lesson: str, grader: Grader, hand_in: Callable[..., Path]
) -> None:
    """The model answers get full points, and nobody is suspected; what is to be graded by hand is open."""
    report = grader.grade(lesson, hand_in(lesson)).report
    waiting = sum(exercise.points for exercise in report.pending_exercises())
    assert [ex.id for ex in report.exercises if ex.score not in (ex.points, None)] == []
    assert report.score + waiting == report.max_score
    assert (report.incidents, report.repairs) == ([], [])


@pytest.mark.parametrize("lesson", LESSONS)
def test_the_release_as_it_is_gets_nothing(lesson: str, grader: Grader, course: Course) -> None:
    """The untouched release gets 0, and every exercise is unanswered."""
    report = grader.grade(lesson, course.release_notebook(lesson)).report
    assert report.score == 0
    assert {exercise.outcome for exercise in report.exercises} == {"unanswered"}
