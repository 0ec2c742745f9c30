"""Wrong answers, written as a tired student writes them, are named or described.

`wrong/` holds them by exercise. Each says what is wrong with it, and what the grader should say:
`named` lists the ids of the mistakes that it is told, `described` is a part of a message. They are whole
answers in a form of their own, so what names them also holds for answers that no edit makes.
"""

from functools import cache
from typing import Any

import pytest
import yaml
from conftest import ROOT
from keys import KEY
from mutants import answer_with, evidence, told

from autograder.judge.diagnose import diagnose
from autograder.judge.oracle import Oracle
from autograder.lessons.loading import load_lesson
from autograder.model.course import Course
from autograder.model.exercise import Lesson

COURSE = Course(ROOT)
LESSONS = {name: load_lesson(COURSE, name) for name in COURSE.lessons()}
NAMED, DESCRIBED, FEWEST = 0.88, 0.97, 4  # shares of all answers; answers of an exercise


@cache
def oracle(lesson: Lesson) -> Oracle:
    """Return the oracle of a lesson, one for all tests of a process."""
    return Oracle(lesson, KEY)


@cache
def answers() -> list[tuple[str, str, int, dict[str, Any]]]:
    """Return each wrong answer with its lesson, its exercise and its number."""
    found = []
    for lesson in LESSONS:
        text = (ROOT / f"tests/lessons/wrong/{lesson}.yaml").read_text(encoding="utf-8")
        for exercise, entries in yaml.safe_load(text).items():
            found += [(lesson, exercise, number, entry) for number, entry in enumerate(entries)]
    return found


def _parameters() -> list[Any]:
    """Return a parameter for each answer; in `make test`, the first two of each exercise that take no seconds."""
    more = pytest.mark.full("all wrong answers: a minute of processor time", seconds=1)
    return [
        pytest.param(
            LESSONS[lesson],
            exercise,
            entry,
            id=f"{lesson[:2]}-{exercise}-{number}",
            marks=[more] if number > 1 or entry.get("slow") else [],
        )
        for lesson, exercise, number, entry in answers()
    ]


@pytest.mark.parametrize(("lesson", "exercise", "entry"), _parameters())
def test_a_wrong_answer_is_named_or_described(
    lesson: Lesson, exercise: str, entry: dict[str, Any]
) -> None:
    """It is told the mistakes it makes and no others; if there are none, a message says what is wrong."""
    asked, source = lesson[exercise], entry["source"]
    seen = evidence(oracle(lesson), asked, [answer_with(asked, source)])
    found = [mistake.id for mistake in diagnose(oracle(lesson), asked, seen)]
    assert not all(item.passed for item in seen)
    assert sorted(found) == sorted(entry.get("named", [])), entry["wrong"]
    assert entry.get("described", "") in " ".join(told(asked, seen, source))


def test_most_are_named_and_nearly_all_are_described() -> None:
    """The shares that the course promises hold for these answers."""
    entries = [entry for *_, entry in answers()]
    named = [entry for entry in entries if entry.get("named")]
    described = [entry for entry in entries if entry.get("named") or entry.get("described")]
    assert len(named) / len(entries) >= NAMED
    assert len(described) / len(entries) >= DESCRIBED


def test_every_exercise_with_code_has_some() -> None:
    """None is left out."""
    counted = [(lesson, exercise) for lesson, exercise, *_ in answers()]
    coded = [
        (name, each.id)
        for name, lesson in LESSONS.items()
        for each in lesson.exercises
        if not each.written and each.name != "answers" and each.points
    ]
    assert [each for each in coded if counted.count(each) < FEWEST] == []
