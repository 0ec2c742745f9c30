"""Right answers in unusual forms keep every point, whatever is drawn.

`autograder/search/answers/` holds them by exercise: one query, sample or head at a time, in chunks, permuted, by einsum,
in float64, with fused projections, by numpy, causal by prefixes, with any fill that gives a weight of
0, as lambdas, callable objects and subclasses, with parts registered twice, properties in place of
attributes, further arguments, prints and warnings. Each is allowed by the contract, so a lost point
is a fault of the check.
"""

import struct
from collections import Counter
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from conftest import ROOT
from keys import KEY, keys
from mutants import answer_with

from autograder.judge.oracle import Oracle, judge_check
from autograder.lessons.loading import load_lesson
from autograder.model.course import Course, package_of
from autograder.model.exercise import Exercise, Lesson
from autograder.search.right_answers import right_answers
from coursework.engine import values
from coursework.engine.describe import Comparison

COURSE = Course(ROOT)
LESSONS = [load_lesson(COURSE, name) for name in COURSE.lessons()]
FEWEST = 2  # of each exercise
MORE = pytest.mark.full("two more keys: minutes of processor time", seconds=1)
KEYS = [KEY, *(pytest.param(key, marks=MORE) for key in keys(2))]


@cache
def oracle(lesson: Lesson, key: bytes) -> Oracle:
    """Return the oracle of a lesson under a key, one for all tests of a process."""
    return Oracle(lesson, key)


def _forms() -> list[Any]:
    """Return a parameter for each answer: its lesson, its exercise and its cell."""
    found = []
    for lesson in LESSONS:
        for exercise, cells in right_answers(package_of(lesson.name)).items():
            for number, cell in enumerate(cells):
                name = f"{lesson.name[:2]}-{exercise}-{number}"
                found.append(pytest.param(lesson, lesson[exercise], cell, id=name))
    return found


def sent(value: Any) -> Any:
    """Return a result as it arrives from a student's process."""
    frame = values.pack(value)
    size, _ = struct.unpack("!II", frame[:8])
    return values.unpack(frame[8 : 8 + size], frame[8 + size :])


def failures(oracle: Oracle, exercise: Exercise, cell: str) -> dict[str, str]:
    """Return what is said of each check that an answer fails."""
    names, failed = oracle.edited(exercise, [answer_with(exercise, cell)]) or {}, {}
    for check in exercise.checks:
        asked = oracle.test_input(exercise, check)
        got = oracle.observe(exercise, names, asked)
        expected = oracle.expected(exercise, check, asked)
        seen = Comparison(asked.operation, replace(got, value=sent(got.value)), expected)
        verdict = judge_check(exercise, check, seen)
        failed |= {} if verdict.passed else {check.id: verdict.message}
    return failed


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize(("lesson", "exercise", "cell"), _forms())
def test_a_right_answer_in_an_unusual_form_passes(
    lesson: Lesson, exercise: Exercise, cell: str, key: bytes
) -> None:
    """Every check passes, seen as the grader sees it."""
    assert failures(oracle(lesson, key), exercise, cell) == {}


def test_every_exercise_with_code_has_some() -> None:
    """None is left out."""
    counted = Counter(form.values[1].id for form in _forms())
    coded = [e.id for lesson in LESSONS for e in lesson.exercises if not e.written]
    assert {name: counted[name] for name in coded if counted[name] < FEWEST} == {}
