"""Rounding decides no check: every order of summation, and float64, give the same verdict.

Results are compared after their distance from the reference was magnified five times: one that still
passes lies within a fifth of the check's own tolerance, whatever that is. A fifth leaves room for
answers that round more often than the model answer does, by numpy or one sample at a time.
"""

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
import torch
from conftest import ROOT
from keys import keys
from reordered import reordered
from torch.utils._pytree import tree_leaves

from autograder.judge import modules
from autograder.judge.oracle import BASE, Oracle
from autograder.lessons.loading import load_lesson
from autograder.lessons.transformer.fixtures import VOCABULARY, Scripted
from autograder.model.course import Course
from autograder.model.exercise import Check, Exercise, Lesson, TestInput
from coursework.engine.describe import Comparison
from coursework.engine.operation import Operation, with_tensors
from coursework.engine.operations import AskEach, CallFunction, ModuleOperation

COURSE = Course(ROOT)
LESSONS = [load_lesson(COURSE, name) for name in COURSE.lessons()]
KEYS = keys(3)
MAGNIFIED = 5
CLEAR = (
    1e-3  # what decides between two discrete results lies at least this far, relatively, from equal
)
pytestmark = pytest.mark.full("every check in other precisions and orders of summation: a minute", seconds=1)
EXERCISES = [
    pytest.param(lesson, exercise, id=f"{lesson.name[:2]}-{exercise.id}")
    for lesson in LESSONS
    for exercise in lesson.exercises
    if exercise.reference is not None
]


@cache
def oracles(lesson: Lesson) -> list[Oracle]:
    """Return the oracles of a lesson under each key."""
    return [Oracle(lesson, key) for key in KEYS]


def asked(lesson: Lesson, exercise: Exercise) -> Iterator[tuple[Oracle, Check, TestInput]]:
    """Yield each check that expects a value, with its input under each key."""
    for check in exercise.checks:
        for oracle in oracles(lesson):
            if not check.raises:
                yield oracle, check, oracle.test_input(exercise, check)


def in_float64(operation: Operation) -> Operation:
    """Return an operation in float64: inputs and weights, and modules where it builds some."""
    if isinstance(operation, AskEach):
        return replace(operation, asked=[in_float64(each) for each in operation.asked])
    exact = with_tensors(operation, lambda x: x.double() if x.is_floating_point() else x)
    return replace(exact, double=True) if hasattr(exact, "double") else exact


def magnified(right: Any, other: Any) -> Any:
    """Return `other` with every number `MAGNIFIED` times as far from `right`; else as it is."""
    if isinstance(right, torch.Tensor) and isinstance(other, torch.Tensor):
        return _magnified_tensor(right, other)
    if isinstance(right, float) and isinstance(other, float):
        return right + MAGNIFIED * (other - right)
    if isinstance(right, dict) and isinstance(other, dict):
        return {key: magnified(right.get(key), value) for key, value in other.items()}
    if isinstance(right, (list, tuple)) and isinstance(other, (list, tuple)):
        return type(other)(magnified(*pair) for pair in zip(right, other, strict=True))
    return other


def _magnified_tensor(right: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    if not right.is_floating_point() or right.shape != other.shape:
        return other
    finite = right.isfinite() & other.isfinite()
    there = right.double() + MAGNIFIED * (other.double() - right.double())
    return torch.where(finite, there, other.double()).to(right.dtype)


def shaken(operation: Operation, seed: int) -> Operation:
    """Return an operation whose floats are changed by a thousandth of their size."""
    generator = torch.Generator().manual_seed(seed)

    def shake(x: torch.Tensor) -> torch.Tensor:
        noise = torch.rand(x.shape, generator=generator, dtype=torch.float64).mul(2).sub(1)
        return (x * (1 + CLEAR * noise)).to(x.dtype) if x.is_floating_point() else x

    return with_tensors(operation, shake)


@pytest.mark.parametrize(("lesson", "exercise"), EXERCISES)
def test_no_order_of_summation_and_no_precision_changes_a_verdict(
    lesson: Lesson, exercise: Exercise
) -> None:
    """Reference and model answer, summed in another order, and the reference in float64."""
    earlier = {other.name: other.reference for other in lesson.upstream(exercise)}
    right = {**BASE, **lesson.given, **earlier, exercise.name: exercise.reference}
    answer = oracles(lesson)[0].edited(exercise, []) or {}
    failed = []
    for number, (oracle, check, test_input) in enumerate(asked(lesson, exercise)):
        expected = oracle.expected(exercise, check, test_input)
        exact = replace(test_input, operation=in_float64(test_input.operation))
        ways: list[tuple[str, Any, TestInput, Callable[[], Any]]] = [
            ("another order", right, test_input, lambda n=number: reordered(n)),
            ("model answer", answer, test_input, lambda n=number: reordered(n + 1)),
            ("float64", right, exact, nullcontext),
        ]
        for way, names, tried, context in ways:
            with context():
                got = oracle.observe(exercise, names, tried)
            got = replace(got, value=magnified(expected.value, got.value), changed=())
            verdict = check.decide(Comparison(test_input.operation, got, expected))
            failed += [] if verdict.passed else [(check.id, way, verdict.message)]
    assert failed == []


@pytest.mark.parametrize(("lesson", "exercise"), EXERCISES)
def test_discrete_results_have_a_margin(lesson: Lesson, exercise: Exercise) -> None:
    """Which row, which span, which word: inputs a thousandth larger or smaller give the same."""
    for number, (oracle, check, test_input) in enumerate(asked(lesson, exercise)):
        right = oracle.expected(exercise, check, test_input).value
        discrete = all(
            not isinstance(leaf, float) and not _is_float(leaf) for leaf in tree_leaves(right)
        )
        if isinstance(test_input.operation, CallFunction) and discrete:
            moved = replace(test_input, operation=shaken(test_input.operation, number))
            seen = oracle.observe(exercise, {exercise.name: exercise.reference, **BASE}, moved)
            same = oracle.observe(exercise, {exercise.name: exercise.reference, **BASE}, test_input)
            pairs = zip(tree_leaves(seen.value), tree_leaves(same.value), strict=True)
            assert all(_equal(*pair) for pair in pairs), check.id


@pytest.mark.parametrize(("lesson", "exercise"), EXERCISES)
@pytest.mark.parametrize("factor", [0.1, 10.0])
def test_positions_change_clearly_or_not_at_all(
    lesson: Lesson, exercise: Exercise, factor: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A threshold ten times as low or as high finds the same positions, in any order of summation."""
    right = {check.id: [] for check in exercise.checks}
    found = {check.id: [] for check in exercise.checks}
    cases = [
        each
        for each in asked(lesson, exercise)
        if isinstance(each[2].operation, modules.ChangedPositions)
    ]
    for oracle, check, test_input in cases:
        right[check.id].append(oracle.expected(exercise, check, test_input).value.tolist())
    monkeypatch.setattr(modules, "STILL", factor * modules.STILL)
    answer = oracles(lesson)[0].edited(exercise, []) or {}
    for number, (oracle, check, test_input) in enumerate(cases):
        with reordered(number):
            found[check.id].append(oracle.observe(exercise, answer, test_input).value.tolist())
    assert found == right


@pytest.mark.parametrize(("lesson", "exercise"), EXERCISES)
def test_a_module_is_asked_in_the_dtype_of_its_weights(lesson: Lesson, exercise: Exercise) -> None:
    """float64 goes to modules in float64 only, float32 to those in float32."""
    for _, check, test_input in asked(lesson, exercise):
        operation = test_input.operation
        if isinstance(operation, ModuleOperation):
            wanted = torch.float64 if operation.double else torch.float32
            handed = {leaf.dtype for leaf in tree_leaves(list(operation.calls)) if _is_float(leaf)}
            assert handed <= {wanted}, check.id


def test_a_scripted_model_is_sure_of_its_word() -> None:
    """The likeliest word leads by 0.5 at least, wherever the sentence stands."""
    written = torch.randint(6, VOCABULARY, (2, 6), generator=torch.Generator().manual_seed(1))
    model, src = Scripted(3, pad_id=0), torch.tensor([[4, 7], [5, 7]])
    best = model(src, written).topk(2).values
    assert (best[..., 0] - best[..., 1]).min() >= 0.5


def _is_float(leaf: Any) -> bool:
    return isinstance(leaf, torch.Tensor) and leaf.is_floating_point()


def _equal(one: Any, other: Any) -> bool:
    return torch.equal(one, other) if isinstance(one, torch.Tensor) else one == other
