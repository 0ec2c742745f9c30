"""Messages arrive as they were sent. Anything that a probe does not send is refused, never evaluated."""

import json
import pickle
import socket
import struct

import numpy as np
import pytest
import safetensors.torch
import torch
from hypothesis import given
from hypothesis import strategies as st

from autograder.probe import wire
from coursework.engine import values
from coursework.engine.values import Opaque, WireError

trees = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**62), 2**62)
    | st.floats(allow_nan=False)
    | st.text(max_size=30),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4)
    ),
    max_leaves=20,
)


def through(message: object) -> object:
    """Return a message as it arrives."""
    frame = values.pack(message)
    text, blob = struct.unpack("!II", frame[:8])
    return values.unpack(frame[8 : 8 + text], frame[8 + text : 8 + text + blob])


@given(trees)
def test_plain_values_arrive_as_they_were(value: object) -> None:
    """Numbers, text, lists and dictionaries come back equal."""
    assert through(value) == value


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int64, torch.bool])
def test_tensors_arrive_bit_for_bit(dtype: torch.dtype) -> None:
    """A tensor keeps shape, dtype and trees; a view of another one does too."""
    sent = torch.arange(24).reshape(2, 3, 4).to(dtype).transpose(0, 2)
    got = through({"x": (sent, [sent])})
    assert isinstance(got, dict)
    assert torch.equal(got["x"][0], sent)
    assert got["x"][1][0].dtype is dtype


def test_a_value_of_too_many_items_leaves_room_for_what_else_is_told() -> None:
    """A mask as a list of lists is a wrong type, and its process has not died."""
    got = through({"value": values.plain([[True] * 300] * 300), "raised": None, "changed": ["0"]})
    assert isinstance(got, dict)
    assert (got["raised"], got["changed"]) == (None, ["0"])
    assert len(got["value"]) == 300


def test_numbers_of_numpy_arrive_as_numbers() -> None:
    """Whole ones as ints, others as floats, wherever they are."""
    got = through({"n": np.int64(9), "x": [np.float32(0.5), np.float64(np.inf)]})
    assert got == {"n": 9, "x": [0.5, float("inf")]}
    assert [type(number) for number in (got["n"], got["x"][0])] == [int, float]


def test_a_value_that_cannot_be_sent_arrives_as_its_type() -> None:
    """An object of a student's own class arrives as the name of its type."""

    class Odd:
        pass

    assert through([Odd(), torch.zeros(2).to_sparse()])[0] == Opaque("Odd")  # type: ignore[index] # a list


def test_what_was_read_once_keeps_its_type_where_it_is_sent_on() -> None:
    """As an observation is, which holds plain values already."""
    read = values.plain([np.zeros(2), (n for n in [1])])
    assert [each.kind for each in through(read)] == ["ndarray", "generator"]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"[1, 2]",
        b"{}",
        b'{"$unknown": 1}',
        b'{"$tensor": "9"}',
        b"\xff",
        b'{"$float": "x"}',
        b'{"$dict": [1]}',
    ],
)
def test_a_malformed_document_is_refused(text: bytes) -> None:
    """Anything but an encoder's document raises WireError, and no other exception."""
    with pytest.raises(WireError):
        values.unpack(text, b"")


@given(st.binary(max_size=200), st.binary(max_size=200))
def test_noise_is_read_or_refused(text: bytes, blob: bytes) -> None:
    """Random bytes are read, or refused with WireError."""
    try:
        values.unpack(text, blob)
    except WireError:
        return


def test_a_pickle_is_not_opened() -> None:
    """A pickled blob is refused, not loaded."""
    with pytest.raises(WireError):
        values.unpack(json.dumps({"$tensor": "0"}).encode(), pickle.dumps({"0": torch.ones(1)}))


def test_a_frame_over_the_limit_is_refused_unread() -> None:
    """The lengths are checked before anything more is read or allocated."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(struct.pack("!II", values.MAX_JSON + 1, 0))
        with pytest.raises(WireError, match="over the limit"):
            wire.receive(ours)


def test_the_deepest_value_an_encoder_sends_is_read() -> None:
    """What lies deeper arrives as Opaque."""
    value: object = 1
    for _ in range(2 * values.MAX_DEPTH):
        value = [value]
    got = through(value)
    for _ in range(values.MAX_DEPTH + 1):
        assert isinstance(got, list)
        got = got[0]
    assert got == Opaque("list")


@pytest.mark.parametrize(
    "text", [b'{"$list": [' + b"9" * 30 + b"]}", b'"' + b"x" * (values.MAX_TEXT + 1) + b'"']
)
def test_numbers_and_texts_over_the_limit_are_refused(text: bytes) -> None:
    """Code that computes with them, or shows them, does not expect such sizes."""
    with pytest.raises(WireError, match=r"huge|characters"):
        values.unpack(text, b"")


def test_a_dtype_that_no_encoder_sends_is_refused() -> None:
    """Much of torch cannot compare such tensors."""
    blob = safetensors.torch.save({"0": torch.ones(2, dtype=torch.complex64)})
    with pytest.raises(WireError, match="complex64"):
        values.unpack(json.dumps({"$tensor": "0"}).encode(), blob)


def test_a_document_too_deep_for_an_encoder_is_refused() -> None:
    """Code that walks a message need not expect a deep recursion."""
    text = '{"$list": [' * 60 + "1" + "]}" * 60
    with pytest.raises(WireError, match="too deep"):
        values.unpack(text.encode(), b"")
