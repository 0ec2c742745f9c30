"""Facts come from outputs: a process cannot claim one, and nothing that it sends breaks the grader."""

import struct
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
import torch
from conftest import REAL_COURSE
from keys import KEY

from autograder.judge.dropout import DropoutFact
from autograder.judge.modules import ChangedPositions
from autograder.judge.oracle import Oracle, judge_check
from autograder.lessons.loading import load_lesson
from autograder.model.exercise import Exercise
from coursework.engine.compare import difference, same_form
from coursework.engine.describe import Comparison
from coursework.engine.observe import observe, observed
from coursework.engine.operation import Operation, StructureError
from coursework.engine.operations import AskForSettings, backpropagate
from coursework.engine.values import Opaque, pack, unpack

HOSTILE = [
    *(None, True, 7, "repeats", [], {}, [None, None], [[], []], {"results": None}, Opaque("list")),
    [torch.full((2, 3, 4), torch.nan)] * 2,
    [torch.ones(2, 3, 4), torch.ones(5, 1, 1)],
    [torch.ones(2, 3, 4), torch.ones(2, 3, 4, dtype=torch.bool)],
    torch.empty(10**6, 10**6, 0),
    [torch.empty(10**6, 10**6, 0)] * 2,
    [[{"value": 1}]] * 4,
    [[{"raised": None}]] * 4,
]


@cache
def oracle(lesson: str) -> Oracle:
    """Return the oracle of a lesson, one for all tests of a process."""
    return Oracle(load_lesson(REAL_COURSE, lesson), KEY)


def _exercises() -> Iterator[Any]:
    for lesson in REAL_COURSE.lessons():
        for exercise in load_lesson(REAL_COURSE, lesson).exercises:
            if exercise.reference is not None:
                yield pytest.param(lesson, exercise.id, id=f"{lesson[:2]}-{exercise.id}")


every_exercise = pytest.mark.parametrize(("lesson", "name"), list(_exercises()))


def sent(value: Any) -> Any:
    """Return a value as it arrives from a process."""
    frame = pack(value)
    (size,) = struct.unpack("!I", frame[:4])
    return unpack(frame[8 : 8 + size], frame[8 + size :])


def passes(judge: Oracle, exercise: Exercise, number: int, value: Any) -> bool:
    """Return whether a process passes a check with this value."""
    check = exercise.checks[number]
    asked = judge.test_input(exercise, check)
    got = observed(asked.operation, {"value": value, "raised": None, "changed": [], "library": []})
    expected = judge.expected(exercise, check, asked)
    return judge_check(exercise, check, Comparison(asked.operation, got, expected)).passed


@every_exercise
def test_what_is_sent_is_enough_to_tell_every_fact(lesson: str, name: str) -> None:
    """What the reference returns arrives whole, and what is read from it is what is expected.

    Where facts are read, a process that sends the right facts instead fails.
    """
    judge = oracle(lesson)
    exercise = judge.lesson[name]
    for number, check in enumerate(exercise.checks):
        asked = judge.test_input(exercise, check)
        names = judge.scope(exercise) | {exercise.name: exercise.reference}
        seen = sent(observe(asked.operation, names, exercise.name, asked.seed))
        expected = judge.expected(exercise, check, asked)
        read = observed(asked.operation, seen)
        assert bool(read.raised) is bool(expected.raised), check.id
        assert difference(read.value, expected.value, atol=1e-6, rtol=1e-5) is None, check.id
        if not expected.raised and not same_form(seen["value"], expected.value):
            assert not passes(judge, exercise, number, sent(expected.value)), check.id


@every_exercise
def test_values_of_any_form_are_judged(lesson: str, name: str) -> None:
    """None of them breaks the grader, and none passes."""
    judge = oracle(lesson)
    exercise = judge.lesson[name]
    for number, check in enumerate(exercise.checks):
        for value in HOSTILE if not check.raises else ():
            right = judge.expected(exercise, check, judge.test_input(exercise, check)).value
            if same_form(value, right):
                continue  # a value like any other
            assert not passes(judge, exercise, number, value), (check.id, value)


def test_facts_are_also_read_where_several_operations_are_asked() -> None:
    """A process that says True in place of two outputs says nothing."""
    operation = AskForSettings([DropoutFact(calls=[[]])])
    outputs = [torch.zeros(2, 3, 4), torch.zeros(2, 3, 4)]
    assert operation.read({"results": [outputs]}) == {"results": [True]}
    claimed = observed(operation, {"value": {"results": [True]}})
    assert claimed.raised
    assert claimed.value is None


@pytest.mark.parametrize(
    ("outputs", "fault"),
    [
        ([torch.zeros(2, 3), torch.zeros(2, 3)], "not three dimensions"),
        ([torch.zeros(2, 3, 4), torch.zeros(2, 5, 4)], "shape varies"),
        ([torch.zeros(2, 3, 4), Opaque("Leak")], "not a tensor"),
    ],
)
def test_outputs_of_a_wrong_form_are_a_fault_of_the_answer(outputs: Any, fault: str) -> None:
    """It is the fault that a student is told, as if the process had found it."""
    seen = observed(ChangedPositions(), {"value": outputs})
    assert seen.raised
    assert (seen.raised.structural, seen.raised.fault) == (True, fault)


def test_what_is_raised_is_not_read() -> None:
    """An exception has no value."""
    seen = observed(ChangedPositions(), {"value": None, "raised": {"type": "KeyError"}})
    assert seen.raised
    assert seen.raised.kind == "KeyError"


def test_the_process_is_not_told_what_is_read() -> None:
    """It is asked for two calls, and hears neither of a fact nor of an order."""
    for operation in (DropoutFact(fact="rate"), ChangedPositions(order=[1, 0])):
        assert operation.sent_as is not None
        assert not issubclass(operation.sent_as, type(operation))
        assert type(operation).read is not Operation.read
        assert operation.sent_as.read is Operation.read


def test_a_cotangent_gives_what_torch_gives() -> None:
    """To the last bit, where entries are infinite or no numbers too."""
    x = torch.randn(3, 4, generator=torch.Generator().manual_seed(1))
    x[0, 0], x[1, 1] = float("inf"), float("nan")
    ours, theirs = x.clone().requires_grad_(), x.clone().requires_grad_()
    cotangent = torch.randn(3, 4, generator=torch.Generator().manual_seed(2))
    backpropagate(ours.exp() * 2, cotangent)
    (theirs.exp() * 2).backward(cotangent)
    torch.testing.assert_close(ours.grad, theirs.grad, rtol=0, atol=0, equal_nan=True)


def test_an_output_of_another_shape_has_no_gradients() -> None:
    """It would otherwise be stretched to the cotangent's shape."""
    x = torch.ones(3, 1, requires_grad=True)
    with pytest.raises(StructureError, match=r"output shape \(3, 1\)"):  # no exception of the answer's own
        backpropagate(x * 2, torch.ones(3, 4))


def test_a_number_needs_no_cotangent() -> None:
    """A loss is backpropagated as it is."""
    x = torch.ones(3, requires_grad=True)
    backpropagate((2 * x).sum(), None)
    assert x.grad is not None
    assert x.grad.tolist() == [2, 2, 2]
