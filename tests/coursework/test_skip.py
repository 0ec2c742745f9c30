"""A skipped exercise gets a right version, which nothing takes for an answer."""

import __future__

import ast
from typing import Any

import pytest
from conftest import ROOT

from autograder.authoring.examples import listed
from autograder.judge.oracle import BASE
from autograder.lessons.loading import load_lesson
from autograder.model.course import Course
from coursework import skip
from coursework.engine.examples import SEED, find
from coursework.engine.observe import try_answer
from coursework.instant.card import card_of
from coursework.instant.exercises import PublicExercise
from coursework.instant.skip import made

COURSE = Course(ROOT)
LESSONS = [load_lesson(COURSE, name) for name in COURSE.lessons()]
EXERCISES = [PublicExercise(**each) for lesson in LESSONS for each in listed(lesson)]
SKIPPED = [pytest.param(each, id=each.id) for each in EXERCISES if each.stand_in]
LONG = 30  # a shorter statement (`memory = model.encode(src)`) may well stand in two places


@pytest.mark.parametrize("exercise", SKIPPED)
def test_a_stand_in_is_right_on_the_examples(exercise: PublicExercise) -> None:
    """And the same object as `skip` binds it is refused: it comes from the coursework."""
    examples = find(exercise.id)
    assert examples is not None
    scope = dict(BASE)
    exec(compile(exercise.stand_in, "", "exec", __future__.annotations.compiler_flag), scope)
    for answer, right in ((scope[exercise.name], True), (made(exercise), False)):
        got = [try_answer(each.operation, answer, exercise.name, SEED) for each in examples.examples]
        assert card_of(examples, got).passed is right


def statements(source: str) -> set[str]:
    """What a source does, statement by statement, without the parts that a skeleton names."""
    kinds = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Return, ast.Expr)
    nodes = (node for node in ast.walk(ast.parse(source)) if isinstance(node, kinds) and node.value)
    texts = {ast.unparse(node) for node in nodes if not isinstance(node.value, ast.Constant)}
    return {text for text in texts if len(text) > LONG and not text.startswith(("self.", "super()"))}


def test_no_stand_in_repeats_a_statement_of_a_model_answer() -> None:
    """It shows what a part does, and not how the exercise asks to build it."""
    answers = {exercise.id: exercise.answer for lesson in LESSONS for exercise in lesson.exercises}
    for exercise in EXERCISES:
        if exercise.stand_in:
            assert not statements(answers[exercise.id]) & statements(exercise.stand_in), exercise.id


def test_an_unknown_name_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    """There is no exception."""
    skip("softmx")
    assert "no exercise 'softmx'" in capsys.readouterr().out


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
def test_what_counts_comes_first_and_each_exercise_has_its_minutes(lesson: Any) -> None:
    """A stretch exercise is the last of its lesson."""
    found = [PublicExercise(**each) for each in listed(lesson)]
    assert [each.points > 0 for each in found] == [True] * (len(found) - 1) + [False]
    assert all(each.minutes for each in found)
    assert all(each.title != each.id for each in found)


def test_several_are_skipped_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    """Each is told in its own line."""
    here = {"skip": skip}
    exec("skip('softmax', 'causal-mask')", here)
    assert {"softmax", "causal_mask"} <= here.keys()
    assert capsys.readouterr().out.count("is skipped") == 2
