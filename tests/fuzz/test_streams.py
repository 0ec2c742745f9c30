"""Anything a probe sends ends in a verdict or is refused. Nothing else is raised."""

import socket
import struct
from functools import lru_cache
from typing import Any

import pytest
import torch
from conftest import ROOT
from hypothesis import given, settings
from hypothesis import strategies as st
from keys import KEY

from autograder.judge.diagnose import diagnose
from autograder.judge.judges import choice, number, shape_of
from autograder.judge.oracle import Evidence, Oracle, judge_check
from autograder.lessons.loading import load_lesson
from autograder.model.course import Course
from autograder.model.exercise import Check, Exercise, Verdict
from autograder.probe import wire
from coursework.engine import values
from coursework.engine.compare import difference, same
from coursework.engine.describe import Comparison
from coursework.engine.observation import Observation
from coursework.engine.operations import ReadEntry
from coursework.engine.values import Opaque, WireError

from .values import frames, tensors

FUZZ = settings.get_profile("fuzz")
COURSE = Course(ROOT)
LESSONS = COURSE.lessons()
plain = st.none() | st.booleans() | st.integers(-(2**63) + 1, 2**63 - 1) | st.floats()
plain |= st.text(max_size=10) | st.builds(Opaque, st.text(max_size=5))
trees = st.recursive(
    plain | tensors(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text(max_size=3) | st.integers(), inner, max_size=3)
    ),
    max_leaves=6,
)


def sent(message: Any) -> Any:
    """Return a value as the judge gets it, or None where it is refused."""
    try:
        frame = values.pack(message)
        text, blob = struct.unpack("!II", frame[:8])
        return values.unpack(frame[8 : 8 + text], frame[8 + text : 8 + text + blob])
    except WireError:
        return None


def received(frame: tuple[bytes, bytes]) -> Any:
    """Return what a frame says, or None where it is refused."""
    try:
        return values.unpack(*frame)
    except WireError:
        return None


@FUZZ
@given(frames())
def test_a_frame_is_read_or_refused(frame: tuple[bytes, bytes]) -> None:
    """A frame that is read becomes an observation, and holds only values that the judge knows."""
    message = received(frame)
    if isinstance(message, dict):
        seen = Observation.of(message)
        assert all(path.replace(".", "").isdigit() for path in seen.changed)
        assert seen.raised is None or len(seen.raised.message) <= 1000
    for tensor in filter(torch.is_tensor, message if isinstance(message, (list, tuple)) else ()):
        assert tensor.dtype in values.DTYPES


@FUZZ
@given(st.binary(max_size=60), st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1))
def test_a_stream_is_read_or_refused(noise: bytes, text: int, blob: int) -> None:
    """Random lengths and random bytes end in WireError, or in the end of the stream."""
    for head in (b"", struct.pack("!II", text, blob), struct.pack("!II", len(noise), 0)):
        ours, theirs = socket.socketpair()
        with ours, theirs:
            theirs.sendall(head + noise)
            theirs.close()
            with pytest.raises((WireError, EOFError)):
                _until_it_ends(ours)


def _until_it_ends(channel: socket.socket) -> None:
    while True:
        wire.receive(channel)


@FUZZ
@given(trees, trees)
def test_any_two_values_can_be_compared(got: Any, want: Any) -> None:
    """A difference is found or not, in words of bounded length; a value equals itself."""
    got, want = sent(got), sent(want)
    found = difference(got, want)
    assert found is None or len(found.text) < 600
    assert same(Observation(value=want), Observation(value=want))


@lru_cache
def oracle(lesson: str) -> Oracle:
    """Return the oracle of a lesson."""
    return Oracle(load_lesson(COURSE, lesson), KEY)


@lru_cache
def expectations(lesson: str) -> list[tuple[Exercise, Check, Comparison]]:
    """Return every check of a lesson, with what the reference gives for it."""
    found = []
    for exercise in oracle(lesson).lesson.exercises:
        for check in exercise.checks:
            test_input = oracle(lesson).test_input(exercise, check)
            expected = oracle(lesson).expected(exercise, check, test_input)
            found.append((exercise, check, Comparison(test_input.operation, expected, expected)))
    return found


def observations() -> st.SearchStrategy[Any]:
    """Draw what a probe may send as an observation."""
    hostile = frames().map(received)
    return hostile | trees.map(lambda value: sent({"value": value}))


@st.composite
def twisted(draw: st.DrawFn, right: Any) -> Any:
    """Draw the right value with a part of it replaced."""
    if isinstance(right, (list, tuple)) and right and draw(st.booleans()):
        index = draw(st.integers(0, len(right) - 1))
        items = [*right[:index], draw(twisted(right[index])), *right[index + 1 :]]
        return draw(st.sampled_from([list, tuple]))(items)
    if isinstance(right, torch.Tensor) and draw(st.booleans()):
        changes = [torch.zeros_like, torch.Tensor.double, torch.Tensor.bool, torch.Tensor.flatten]
        return draw(st.sampled_from(changes))(right.detach())
    if isinstance(right, dict) and right and draw(st.booleans()):
        key = draw(st.sampled_from(sorted(right, key=repr)))
        return {**right, key: draw(twisted(right[key]))}
    return draw(trees)


@pytest.mark.parametrize("lesson", LESSONS)
@FUZZ
@given(data=st.data())
def test_every_check_gives_a_verdict(lesson: str, data: st.DataObject) -> None:
    """Each judge of each lesson decides about whatever comes back."""
    exercise, check, right = data.draw(st.sampled_from(expectations(lesson)))
    twist = twisted(right.expected.value).map(lambda value: sent({"value": value}))
    message = data.draw(observations() | twist)
    got = Observation.of(message if isinstance(message, dict) else {})
    verdict = judge_check(exercise, check, Comparison(right.operation, got, right.expected))
    assert isinstance(verdict, Verdict)
    assert isinstance(verdict.message, str)


@FUZZ
@given(observations())
def test_diagnosis_goes_through(message: Any) -> None:
    """Whatever came back, it is compared with what known mistakes give."""
    exercise, check, right = expectations("03_attention")[0]
    got = Observation.of(message if isinstance(message, dict) else {})
    asked = oracle("03_attention").test_input(exercise, check)
    evidence = Evidence(check, asked, got, right.expected, passed=False)
    assert isinstance(diagnose(oracle("03_attention"), exercise, [evidence]), list)


CHOICES = [
    choice("b", {"a": "No."}),
    shape_of(2, 3, hints={(3, 2): "The other way round."}),
    number(2.5, {2.0: "Not quite."}),
]


@FUZZ
@given(trees)
def test_every_answer_to_a_question_gives_a_verdict(given_answer: Any) -> None:
    """The question asks for a letter, a shape or a number; any value is right or wrong."""
    seen = Comparison(ReadEntry("one"), Observation(value=sent(given_answer)), Observation())
    assert all(isinstance(judge(seen).passed, bool) for judge in CHOICES)
