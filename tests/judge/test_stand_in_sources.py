"""What takes the place of a student's earlier answers runs on its own, and is what they are compared with."""

import __future__

import pytest
from conftest import ROOT

from autograder.judge.oracle import BASE, as_reference, stand_in_source
from autograder.lessons.loading import load_lesson
from autograder.model.course import Course
from autograder.model.exercise import Exercise
from coursework import stand_ins, stand_ins_models

COURSE = Course(ROOT)
EXERCISES = [
    pytest.param(exercise, id=f"{lesson[:2]}-{exercise.id}")
    for lesson in COURSE.lessons()
    for exercise in load_lesson(COURSE, lesson).exercises
    if exercise.reference is not None
]


@pytest.mark.parametrize("exercise", EXERCISES)
def test_a_stand_in_needs_nothing_but_torch_and_math(exercise: Exercise) -> None:
    """A run can't import the coursework's stand-ins, so its source brings what it is built from."""
    scope = dict(BASE)
    source = stand_in_source(exercise.stand_in, exercise.name)
    exec(compile(source, "", "exec", __future__.annotations.compiler_flag), scope)
    assert callable(scope[exercise.name])


def test_a_reference_is_no_stand_in_of_the_coursework() -> None:
    """The check of answers that refuses those would refuse the reference, too."""
    copied = as_reference(stand_ins_models.Encoder)
    assert copied is as_reference(stand_ins_models.Encoder)
    assert not any(kind.__module__.startswith("coursework") for kind in copied.__mro__)
    assert as_reference(stand_ins.causal_mask)(3).tolist() == stand_ins.causal_mask(3).tolist()
    assert as_reference(len) is len
    assert as_reference(None) is None


def test_a_stand_in_may_have_another_name_in_the_lesson() -> None:
    """The source binds the name that the lesson knows it by."""
    scope = dict(BASE)
    source = stand_in_source(stand_ins.padding_mask, "real")
    exec(compile(source, "<real>", "exec", __future__.annotations.compiler_flag), scope)
    assert callable(scope["real"])
