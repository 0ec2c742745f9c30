"""What grading asks besides results is seen in the notebook, and holds of every right answer."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from conftest import ROOT
from mutants import answer_with

from autograder.authoring.examples import asks
from autograder.judge.oracle import Oracle
from autograder.lessons.loading import load_lesson
from autograder.model.course import Course, package_of
from autograder.model.draw import PUBLIC_KEY
from autograder.model.exercise import Exercise, Lesson
from autograder.search.right_answers import right_answers
from coursework import check
from coursework.engine.examples import SEED, ExampleSet, find
from coursework.engine.observation import Observation
from coursework.engine.observe import try_answer
from coursework.engine.operation import Operation
from coursework.instant import notebook
from coursework.instant.further import further

COURSE = Course(ROOT)
LESSONS = [load_lesson(COURSE, name) for name in COURSE.lessons()]
EXERCISES = [
    pytest.param(lesson, exercise, id=f"{lesson.name[:2]}-{exercise.id}")
    for lesson in LESSONS
    for exercise in lesson.exercises
    if exercise.examples
]
HEADS = "def split_heads(x, num_heads):\n    b, s, k = *x.shape[:2], x.size(-1) // num_heads\n    return {}\n"
FILLED = "torch.zeros(b, num_heads, s, k).copy_(x.view(b, s, num_heads, k).transpose(1, 2))"
BY_NUMPY = "torch.from_numpy(x.{}numpy().reshape(b, s, num_heads, k).transpose(0, 2, 1, 3))"


def made(lesson: Lesson, exercise: Exercise, cell: str) -> tuple[Any, ExampleSet, Callable[..., Any]]:
    """Return what a cell defines, the examples of its exercise, and how one is asked."""
    names = Oracle(lesson, PUBLIC_KEY).edited(exercise, [answer_with(exercise, cell)]) or {}
    answer, examples = names[exercise.name], find(exercise.id, lesson.name)
    assert examples is not None

    def attempt(operation: Operation) -> Observation:
        return try_answer(operation, answer, exercise.name, SEED)

    return answer, examples, attempt


@pytest.mark.parametrize(("lesson", "exercise"), EXERCISES)
def test_nothing_is_found_in_a_right_answer(lesson: Lesson, exercise: Exercise) -> None:
    """In any form: in chunks, in float64, by numpy where no gradient is asked for."""
    asked = asks(lesson, exercise)
    for cell in [exercise.answer, *right_answers(package_of(lesson.name)).get(exercise.id, ())]:
        answer, examples, attempt = made(lesson, exercise, cell)
        assert further(examples, asked, answer, cell, attempt) is None, cell


@pytest.mark.parametrize(
    ("lesson", "exercise", "changes", "said"),
    [
        ("04", "split-heads", HEADS.format(FILLED), "The result is float32; float64 was expected."),
        ("04", "split-heads", HEADS.format(BY_NUMPY.format("detach().")), "No gradient reaches `x`"),
        ("04", "split-heads", HEADS.format(BY_NUMPY.format("")), "NumPy cannot follow gradients."),
        ("04", "multi-head-attention", ("    def forward", "    @torch.no_grad()\n    def forward"),
         "No gradient reaches `w_q.weight`, `w_q.bias`, `w_k.weight` and 8 more"),
        ("06", "decoder", ("memory, self_mask", "memory.detach(), self_mask"), "No gradient reaches `memory`"),
        ("02", "positional-encoding", ("x + self.pe", "x.float() + self.pe.float()"), "is float32"),
    ],
)  # fmt: skip
def test_what_grading_takes_points_for_is_told(
    lesson: str, exercise: str, changes: str | tuple[str, str], said: str
) -> None:
    """Though every example comes out right."""
    whole = next(each for each in LESSONS if each.name.startswith(lesson))
    own = whole[exercise]
    cell = changes if isinstance(changes, str) else own.answer.replace(*changes)
    assert cell != own.answer
    answer, examples, attempt = made(whole, own, cell)
    found = further(examples, asks(whole, own), answer, cell, attempt)
    assert found is not None
    assert said in found[1]


def test_the_card_says_it_with_its_headline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where grading asks for it, and no other exercise."""
    names: dict[str, Any] = {}
    exec("import torch\n" + HEADS.format(BY_NUMPY.format("detach().")), names)
    known = notebook.exercise_named("split-heads", {})
    assert known is not None
    for asked, headline in ((("float64", "gradients"), "right on its examples, but it stops gradients."), ((), "Right on")):
        monkeypatch.setattr(notebook, "exercise_named", lambda *_, a=asked: replace(known, asks=a))
        assert check("split-heads", names).headline.startswith(headline)


@pytest.mark.parametrize(
    ("rate", "headline"),
    [("self.dropout.p", "right on its examples, but random in eval mode."), ("0.5", "examples come out right.")],
)
def test_dropout_in_eval_mode_is_told_as_that(rate: str, headline: str) -> None:
    """Whatever its results look like, and where a visible test fails as well."""
    lesson = next(each for each in LESSONS if each.name.startswith("06"))
    exercise = lesson["causal-decoder-layer"]
    cell = exercise.answer.replace("self.dropout(attended)", f"F.dropout(attended, {rate})")
    answer, *_ = made(lesson, exercise, cell)
    card, known = check(exercise.id, {exercise.name: answer}), notebook.exercise_named(exercise.id, {})
    assert known is not None
    assert notebook.told_first(known, {exercise.name: answer}).startswith(card.title)
    assert card.title == "In eval mode, two calls with the same input give different results."
    assert headline in card.headline
