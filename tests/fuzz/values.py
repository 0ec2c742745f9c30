"""Strategies for what may come out of a file or off a wire."""

import json
from typing import Any

import safetensors.torch
import torch
from hypothesis import strategies as st

scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([2**63, -(2**64), 10**400])
    | st.floats()
    | st.text(st.characters(codec=None), max_size=20)
)
junk = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
sizes = st.lists(st.integers(0, 4), max_size=4).map(tuple)
dtypes = st.sampled_from(
    [
        *(torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.bool, torch.int64),
        *(torch.int8, torch.uint8, torch.complex64, torch.uint16, torch.float8_e4m3fn),
    ]
)


@st.composite
def tensors(draw: st.DrawFn) -> torch.Tensor:
    """Draw a tensor of any shape and dtype, with NaN and infinities where they fit."""
    tensor = torch.full(draw(sizes), draw(st.floats(width=16))).nan_to_num(1.0)
    if draw(st.booleans()) and tensor.numel():
        tensor.view(-1)[0] = draw(st.sampled_from([torch.nan, torch.inf, -torch.inf, 0.0]))
    dtype = draw(dtypes)
    whole = not (dtype.is_floating_point or dtype.is_complex)
    return (tensor.nan_to_num(3.0, 4.0, 5.0).clamp(0, 100) if whole else tensor).to(dtype)


@st.composite
def frames(draw: st.DrawFn) -> tuple[bytes, bytes]:
    """Draw the two parts of a frame: nearly right, or noise."""
    if draw(st.integers(0, 9)) == 0:
        return draw(st.binary(max_size=100)), draw(st.binary(max_size=100))
    blob = draw(st.dictionaries(st.sampled_from("0123"), tensors(), max_size=3))
    text = json.dumps(draw(documents)).encode()
    data = safetensors.torch.save(blob) if blob else b""
    if draw(st.integers(0, 4)) == 0:
        cut = draw(st.integers(0, len(data)))
        data = data[:cut] + draw(st.binary(max_size=4)) + data[cut + 1 :]
    return text, data


def _tagged(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    pairs = st.lists(st.tuples(inner, inner), max_size=3)
    return st.one_of(
        st.lists(inner, max_size=3).map(lambda body: {"$list": body}),
        st.lists(inner, max_size=3).map(lambda body: {"$tuple": body}),
        pairs.map(lambda body: {"$dict": body}),
        fields(inner),
        st.sampled_from("01239").map(lambda name: {"$tensor": name}),
        st.lists(st.integers(-1, 2**64), max_size=3).map(lambda body: {"$size": body}),
        st.sampled_from(["nan", "inf", "-inf", "x"]).map(lambda body: {"$float": body}),
        st.lists(scalars, max_size=3).map(lambda body: {"$opaque": body}),
        st.tuples(st.sampled_from(TAGS), inner).map(lambda pair: {pair[0]: pair[1]}),
    )


def fields(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Draw what looks like an observation or an exception, as it is encoded."""
    pairs = st.lists(st.tuples(st.sampled_from(FIELDS), inner), max_size=6)
    return pairs.map(lambda body: {"$dict": [list(pair) for pair in body]})


TAGS = ["$list", "$tuple", "$dict", "$size", "$float", "$opaque", "$tensor", "$bad", ""]
FIELDS = ["value", "raised", "changed", "library", "type", "message", "bases", "line", "text", "session", "probe", "code", "cell", "warm", "q", "k", "v"]
documents = st.recursive(scalars, _tagged, max_leaves=12)
