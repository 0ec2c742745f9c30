"""Points, checks, mistakes, scores and diagnoses are those that were written down in `frozen/`.

`frozen/NAME.json` was made before the packages were re-cut. A difference is either a fault or a
change on purpose; the latter is written into the file, and its reason into the commit.
"""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT
from mutants import grade_mistake

from autograder.judge.oracle import Oracle
from autograder.lessons.loading import load_lesson
from autograder.model.course import Course

COURSE = Course(ROOT)
FROZEN = Path(__file__).with_name("frozen")
EXERCISES = [
    pytest.param(name, exercise, id=f"{name[:2]}-{exercise}")
    for name in COURSE.lessons()
    for exercise in json.loads((FROZEN / f"{name}.json").read_text())
]


@cache
def frozen(lesson: str) -> dict[str, Any]:
    """Return what was written down of a lesson."""
    found: dict[str, Any] = json.loads((FROZEN / f"{lesson}.json").read_text())
    return found


@cache
def oracle(lesson: str) -> Oracle:
    """Return the oracle of a lesson, one for all tests of a process."""
    return Oracle(load_lesson(COURSE, lesson))


@pytest.mark.parametrize(("lesson", "exercise"), EXERCISES)
def test_checks_and_mistakes_are_as_they_were(lesson: str, exercise: str) -> None:
    """Ids, order, titles, weights and hints; the exercises and their points."""
    then, now = frozen(lesson)[exercise], oracle(lesson).lesson[exercise]
    assert list(frozen(lesson)) == [each.id for each in oracle(lesson).lesson.exercises]
    assert now.points == then["points"]
    assert [[c.id, c.title, c.weight] for c in now.checks] == then["checks"]
    told = {mistake.id: [mistake.title, mistake.hint] for mistake in now.mistakes}
    assert told == {key: [each["title"], each["hint"]] for key, each in then["mistakes"].items()}


@pytest.mark.timeout(900)  # whole models, three times each
@pytest.mark.parametrize(("lesson", "exercise"), EXERCISES)
def test_scores_and_diagnoses_are_as_they_were(lesson: str, exercise: str) -> None:
    """Each mistake, handed in alone, under three seeds."""
    judged = oracle(lesson)
    differing = {}
    for mistake in judged.lesson[exercise].mistakes:
        then = frozen(lesson)[exercise]["mistakes"][mistake.id]["runs"]
        now = [grade_mistake(judged, judged.lesson[exercise], mistake, seed) for seed in (1, 2, 3)]
        if now != then:
            differing[mistake.id] = [pair for pair in zip(then, now, strict=True) if pair[0] != pair[1]]
    assert not differing
