"""A score is a function of the answer: whatever key a course draws its inputs from.

In `make test-all` each mistake is graded under 3 keys, or under 2 if that takes seconds, as with whole layers,
models and figures. In `make test` it is one key, and of the mistakes that take seconds every sixth: that each
fails some check is what the build asks for as well. `KEYS=200 pytest tests/lessons/test_keys.py` tries 200.
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
FEW_OF_THE_LARGE, FEW = 2, 3
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
    "grouped-query-attention",
    "llama-layer",
    "llama",
}
EXERCISES = [
    pytest.param(lesson, exercise, id=f"{lesson.name[:2]}-{exercise.id}")
    for lesson in LESSONS
    for exercise in lesson.exercises
    if exercise.mistakes
]


@pytest.fixture
def tried(request: pytest.FixtureRequest, exercise: Exercise) -> list[bytes]:
    """The keys to try."""
    few = FEW_OF_THE_LARGE if exercise.id in LARGE else FEW
    return keys(int(os.environ.get("KEYS", few)) if request.param else 1)


@pytest.mark.timeout(3600)
@pytest.mark.parametrize(("lesson", "exercise"), EXERCISES)
@pytest.mark.parametrize(
    "tried",
    [
        pytest.param(False, id="one key"),
        pytest.param(True, id="several", marks=pytest.mark.full("two or three keys: minutes", seconds=6)),
    ],
    indirect=True,
)
def test_a_mistake_has_one_score_and_one_name(
    lesson: Lesson, exercise: Exercise, tried: list[bytes]
) -> None:
    """Under every key it fails the same checks, at least one, and is named as itself alone."""
    mistakes = exercise.mistakes[:: 6 if exercise.id in LARGE and len(tried) == 1 else 1]
    found: dict[str, set[tuple[object, ...]]] = {each.id: set() for each in mistakes}
    for key in tried:
        oracle = Oracle(lesson, key)
        for mistake in mistakes:
            graded = grade_mistake(oracle, exercise, mistake)
            own = {mistake.id, *mistake.same_as} >= set(graded["named"]) != set()
            found[mistake.id].add((graded["score"], *graded["failed"], own or tuple(graded["named"][:2])))
    assert {mistake: seen for mistake, seen in found.items() if len(seen) != 1} == {}
    assert [mistake for mistake, ((_, *failed, own),) in found.items() if not failed or own is not True] == []
