"""Diagnoses with kept results are those without, and results come back bit for bit."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from conftest import ROOT
from keys import KEY
from mutants import answer_with, evidence, told

from autograder.judge.diagnose import diagnose
from autograder.judge.kept_results import KeptResults
from autograder.judge.oracle import Oracle
from autograder.lessons.loading import load_lesson
from autograder.model.course import Course
from autograder.model.exercise import Lesson
from coursework.engine.observation import Observation, Raised

COURSE = Course(ROOT)
EACH = 7  # of so many wrong answers, one is tried


class Documents(dict[str, bytes]):
    """A store that counts what it was asked to keep."""

    puts = 0

    def put(self, name: str, document: bytes) -> None:
        """Keep a document."""
        self.puts += 1
        self[name] = document


def compute_twice(value: Any) -> tuple[Observation | None, int]:
    """Return an observation as it comes the second time, and how often it was computed."""
    store, computed = Documents(), []

    def compute() -> Observation:
        computed.append(1)
        return Observation(value, Raised("ValueError", "no", ("ValueError", "Exception")), ("0.1",))

    KeptResults(store).observation(("key",), compute)
    return KeptResults(store).observation(("key",), compute), len(computed)


@pytest.mark.parametrize(
    "value",
    [
        None,
        {"a": [1, 2.5, "text"], "b": (True, None)},
        torch.Size([2, 3]),
        float("-inf"),
        -0.0,
        [torch.tensor([True]), torch.zeros(0), torch.tensor(3), torch.ones(2, dtype=torch.bfloat16)],
    ],
)
def test_a_result_comes_back_as_it_was(value: Any) -> None:
    """It is computed once, and has the same form and the same exception afterwards."""
    found, computed = compute_twice(value)
    assert computed == 1
    assert found is not None
    assert repr(found.value) == repr(value)
    assert found.raised == Raised("ValueError", "no", ("ValueError", "Exception"))
    assert found.changed == ("0.1",)


def test_every_bit_of_a_tensor_comes_back() -> None:
    """NaN and signed zeros count too; how the numbers lie in memory does not."""
    value = torch.tensor([[float("nan"), -0.0], [1.0, 1e-40]]).T
    found, computed = compute_twice(value)
    assert computed == 1
    assert found is not None
    assert torch.equal(found.value.view(torch.int32), value.contiguous().view(torch.int32))


def test_edits_that_exclude_each_other_are_remembered() -> None:
    """None is a result like any other."""
    store = Documents()
    assert KeptResults(store).observation(("pair",), lambda: None) is None
    assert KeptResults(store).observation(("pair",), lambda: Observation(1)) is None


def diagnosed(oracle: Oracle, cases: Sequence[tuple[str, str]]) -> list[Any]:
    """Return what a student would be told of each answer, and which mistakes are named."""
    found = []
    for exercise_id, source in cases:
        exercise = oracle.lesson[exercise_id]
        seen = evidence(Oracle(oracle.lesson, KEY), exercise, [answer_with(exercise, source)])
        expected = [
            oracle.expected(exercise, check, oracle.test_input(exercise, check))
            for check in exercise.checks
        ]
        seen = [
            type(item)(item.check, item.test_input, item.got, want, item.passed)
            for item, want in zip(seen, expected, strict=True)
        ]
        named = [mistake.id for mistake in diagnose(oracle, exercise, seen)]
        found.append((exercise_id, named, told(exercise, seen, source)))
    return found


def wrong_answers(lesson: Lesson) -> list[tuple[str, str]]:
    """Return a sample of the wrong answers of a lesson."""
    text = (ROOT / f"tests/lessons/wrong/{lesson.name}.yaml").read_text(encoding="utf-8")
    found = [
        (exercise, entry["source"])
        for exercise, entries in yaml.safe_load(text).items()
        for entry in entries
        if not entry.get("slow")
    ]
    return found[::EACH]


@pytest.mark.full("every lesson is diagnosed twice", seconds=5)
@pytest.mark.parametrize("name", COURSE.lessons())
def test_diagnoses_are_those_of_the_slow_way(name: str) -> None:
    """For each wrong answer, the same mistakes are named and the same is said; nothing is computed again."""
    lesson = load_lesson(COURSE, name)
    cases, store = wrong_answers(lesson), Documents()
    slow = diagnosed(Oracle(lesson, KEY), cases)
    assert diagnosed(Oracle(lesson, KEY, KeptResults(store)), cases) == slow
    kept = store.puts
    assert kept > len(cases)
    assert diagnosed(Oracle(lesson, KEY, KeptResults(store)), cases) == slow
    assert store.puts == kept


def test_nothing_of_a_student_is_kept(tmp_path: Path) -> None:
    """Judging and diagnosing an answer keeps only what our own answers give."""
    lesson = load_lesson(COURSE, "03_attention")
    exercise, store = lesson["causal-mask"], Documents()
    oracle = Oracle(lesson, KEY, KeptResults(store))
    for wrong in ("torch.zeros(n, n)", "torch.full((n, n), 77.5)"):
        source = f"def causal_mask(n):\n    return {wrong}\n"
        seen = evidence(Oracle(lesson, KEY), exercise, [answer_with(exercise, source)])
        diagnose(oracle, exercise, seen)
    assert store
    assert not any(torch.tensor(77.5).numpy().tobytes() in document for document in store.values())
