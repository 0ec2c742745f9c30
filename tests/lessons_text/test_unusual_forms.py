"""A visible test and the instant check take what grading takes, also in an unusual form."""

from typing import Any

import pytest
from matplotlib import pyplot as plt

from autograder.model.course import package_of
from autograder.search.right_answers import right_answers
from coursework.instant.exercises import OPEN, WRONG
from coursework.instant.notebook import card_for

from .lesson_run import BITES
from .lessons import LESSONS

# Forms that grading takes and a visible test refuses: how many of an exercise, and what it is strict about.
STRICTER = {
    "sinusoidal-encoding": (1, "the exception is a ValueError, not a class derived from it"),
    "attention-shapes": (2, "a shape is no NumPy array, and a further key has a value"),
    "self-attention-head": (1, "layers are told by the names of their parameters"),
    "head-shapes": (1, "a number is one of Python's"),
    "feed-forward": (1, "layers are told by the names of their parameters"),
    "encoder-layer": (1, "parts are modules, not properties"),
    "encoder": (2, "sizes may be passed by name, and the positions are a part that can be called"),
    "decoder-layer": (1, "no rate of dropout is fixed"),
    "decoder-choices": (1, "a number is one of Python's"),
    "noam-rate": (1, "a number is one of Python's"),
    "shape-trace": (1, "a shape has whole numbers"),
    "rms-norm": (1, "layers are told by the names of their parameters"),
    "load-llama": (2, "the exception is a ValueError, not a class derived from it"),
}
ANSWERS = {
    (lesson, exercise): cells
    for lesson in LESSONS
    for exercise, cells in right_answers(package_of(lesson)).items()
}



def scopes(lesson: str, exercise: str) -> list[dict[str, Any]]:
    """Return what is in scope after each right answer to an exercise."""
    before, found = LESSONS[lesson].scope_before(exercise), []
    for cell in ANSWERS[lesson, exercise]:
        found.append({**before})
        exec(compile(cell, "answer", "exec"), found[-1])
    return found


@pytest.mark.parametrize(("lesson", "exercise"), ANSWERS)
def test_a_right_answer_in_an_unusual_form_passes_the_visible_test(lesson: str, exercise: str) -> None:
    """Else the notebook would call wrong what grading gives every point. What is stricter is listed."""
    refused = []
    for scope in scopes(lesson, exercise):
        try:
            exec(compile(LESSONS[lesson].text.test(exercise), "test", "exec"), scope)
        except (*BITES, AttributeError, NotImplementedError, TypeError) as problem:
            refused.append(problem)
        plt.close("all")
    assert len(refused) == STRICTER.get(exercise, (0, ""))[0], refused


@pytest.mark.parametrize(("lesson", "exercise"), ANSWERS)
def test_a_right_answer_in_an_unusual_form_is_right_at_once(lesson: str, exercise: str) -> None:
    """And it does without what the exercise excludes. Only a further key that leads to None is told."""
    cards = [card_for(exercise, scope) for scope in scopes(lesson, exercise)]
    told = [card for card in cards if card.mark in (OPEN, WRONG)]
    assert [card.headline for card in told] == ["still to be answered: notes."] * (exercise == "attention-shapes")
