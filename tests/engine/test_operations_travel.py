"""Every check's operation arrives in the probe as the request that the judge made."""

import struct
from collections.abc import Mapping
from typing import Any

import pytest
import torch
from conftest import ROOT
from keys import KEY

from autograder.judge.oracle import Oracle
from autograder.lessons.loading import load_lesson
from autograder.model.course import Course
from autograder.model.exercise import Exercise
from coursework.engine.operation import Operation, make, packed
from coursework.engine.values import pack, unpack

COURSE = Course(ROOT)
ORACLES = [Oracle(load_lesson(COURSE, lesson), KEY) for lesson in COURSE.lessons()]
EXERCISES = [
    pytest.param(oracle, exercise, id=f"{oracle.lesson.name[:2]}-{exercise.id}")
    for oracle in ORACLES
    for exercise in oracle.lesson.exercises
    if not exercise.written
]


def arrived(operation: Operation) -> Operation:
    """Send an operation as the sandbox's client does, and make it again as the probe does."""
    frame = pack(packed(operation))
    (size,) = struct.unpack("!I", frame[:4])
    order = unpack(frame[8 : 8 + size], frame[8 + size :])
    return make(order["operation"], order["fields"])


def plain(value: Any) -> Any:
    """Return a value whose parts can be compared: mappings and sequences as such, tensors in full."""
    if isinstance(value, torch.Tensor):
        return (value.dtype, tuple(value.shape), value.nan_to_num().tolist())
    if isinstance(value, Mapping):
        return {key: plain(part) for key, part in value.items()}
    return [plain(part) for part in value] if isinstance(value, (list, tuple)) else value


@pytest.mark.parametrize(("oracle", "exercise"), EXERCISES)
def test_an_operation_arrives_as_it_was_sent(oracle: Oracle, exercise: Exercise) -> None:
    """Its class, or the one that it extends, and every field: mappings, sequences, tensors, None and numbers."""
    for check in exercise.checks:
        sent = oracle.test_input(exercise, check).operation
        made = arrived(sent)
        assert type(made) is (sent.sent_as or type(sent)), check.id
        assert type(made).run is type(sent).run, check.id  # what extends it only reads
        assert plain(packed(made)) == plain(packed(sent)), check.id
