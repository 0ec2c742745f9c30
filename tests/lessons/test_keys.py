"""A score is a function of the answer: whatever key a course draws its inputs from.

Each mistake is graded under 3 keys, those of whole layers and models, and of figures, under 2:
they take seconds a key. `KEYS=25 pytest tests/lessons/test_keys.py` tries all under 25, and
`pytest -m slow tests/lessons/test_keys.py` under 200.
"""

import os

import pytest
from conftest import ROOT
from keys import keys
from mutants import grade_mistake

from autograder.judge.oracle import Oracle
from autograder.lessons.loading import load_lesson
from autograder.model.course import Course
from autograder.model.exercise import Exercise, Lesson

COURSE = Course(ROOT)
LESSONS = [load_lesson(COURSE, name) for name in COURSE.lessons()]
FEW_OF_THE_LARGE, FEW, MANY = 2, 3, 200
LARGE = {
    "multi-head-attention",
    "encoder-layer",
    "encoder",
    "decoder-layer",
    "decoder",
    "causal-decoder-layer",
    "transformer",
    "language-model",
    "greedy-decode",
    "train-step",
    "label-smoothing-loss",
    "attention-maps",
    "plot-attention",
    "sample-next",
    "attention-rollout",
    "sentence-pair-attention",
    "decode-step",
}
EXERCISES = [
    pytest.param(lesson, exercise, id=f"{lesson.name[:2]}-{exercise.id}")
    for lesson in LESSONS
    for exercise in lesson.exercises
    if exercise.mistakes
]


@pytest.fixture
def tried(request: pytest.FixtureRequest, exercise: Exercise) -> list[bytes]:
    """The keys to try: few, or many if slow tests were asked for."""
    few = int(os.environ.get("KEYS", FEW_OF_THE_LARGE if exercise.id in LARGE else FEW))
    return keys(MANY if request.config.option.markexpr == "slow" else few)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(("lesson", "exercise"), EXERCISES)
def test_a_mistake_has_one_score_and_one_name(
    lesson: Lesson, exercise: Exercise, tried: list[bytes]
) -> None:
    """Under every key it fails the same checks, at least one, and is named as itself alone."""
    found: dict[str, set[tuple[object, ...]]] = {each.id: set() for each in exercise.mistakes}
    for key in tried:
        oracle = Oracle(lesson, key)
        for mistake in exercise.mistakes:
            graded = grade_mistake(oracle, exercise, mistake)
            own = {mistake.id, *mistake.same_as} >= set(graded["named"]) != set()
            found[mistake.id].add((graded["score"], *graded["failed"], own or tuple(graded["named"][:2])))
    assert {mistake: seen for mistake, seen in found.items() if len(seen) != 1} == {}
    assert [mistake for mistake, ((_, *failed, own),) in found.items() if not failed or own is not True] == []
