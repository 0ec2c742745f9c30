"""Values as JSON and safetensors: what is sent to and from a sandbox, kept on disk, and stored in examples.

A frame is two 4-byte lengths, a JSON document, and a safetensors blob. Nothing is ever unpickled: the
reader accepts numbers, text, containers and plain tensors of known dtypes, up to fixed limits. In the
JSON, a value that JSON has no form for is an object with one key: "$tensor", "$float", "$size",
"$list", "$tuple", "$dict" or "$opaque".
"""

import json
import math
import numbers
import struct
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import Any

import safetensors.torch
import torch
from safetensors import TensorSpec

MAX_JSON = 2**20  # bytes; a right answer takes 6 kilobytes at most
MAX_BLOB = 8 * 2**20  # bytes; a right answer takes 0.9 megabytes at most
HEADER = 200  # bytes at most that a tensor's entry takes in the header of the blob
MAX_DEPTH = 12
MAX_ITEMS = 5_000  # of a value
MAX_MESSAGE = 4 * MAX_ITEMS  # that a value of too many items leaves room for what else is told
MAX_TEXT = 20_000
NON_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)
DTYPES = frozenset((*FLOATS, *INTEGERS, torch.bool))


class WireError(Exception):
    """The stream holds something that a probe does not send, or a message is too large to send."""


class Opaque:
    """Stands for a value that cannot be sent: the name of its type, and a short text."""

    def __init__(self, kind: str, text: str = "") -> None:
        self.kind, self.text = kind[:100], text[:200]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Opaque) and self.kind == other.kind

    def __hash__(self) -> int:
        return hash(self.kind)

    def __repr__(self) -> str:
        return f"<{self.kind}>"


class Encoder:
    """Turns a value into JSON of some `items` at most, and collects its numbered tensors in `tensors`."""

    def __init__(self, tensors: dict[str, torch.Tensor] | None = None, items: int = MAX_ITEMS) -> None:
        self.tensors = {} if tensors is None else tensors
        self._most = items
        self._items = self._bytes = 0

    def encode(self, value: Any, depth: int = 0) -> Any:
        """Return a value as JSON."""
        self._items += 1
        if depth > MAX_DEPTH or self._items > self._most:
            return {"$opaque": [type(value).__name__, "too deep or too long to send"]}
        if isinstance(value, torch.Tensor):
            return self._tensor(value)
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, (int, float, str)):
            return self._scalar(value)
        if isinstance(value, numbers.Real):  # a number of numpy's
            return self._scalar(int(value) if isinstance(value, numbers.Integral) else float(value))
        return self._container(value, depth + 1)

    def _scalar(self, value: float | str) -> Any:
        if isinstance(value, str):
            return str.__str__(value)[:MAX_TEXT]
        if isinstance(value, int):
            return int(value) if abs(value) < 2**63 else {"$opaque": ["int", "a huge number"]}
        return float(value) if math.isfinite(value) else {"$float": str(float(value))}

    def _container(self, value: Any, depth: int) -> Any:
        if isinstance(value, torch.Size):
            return {"$size": [int(n) for n in value]}
        if isinstance(value, (list, tuple)):
            name, kind = ("$list", list) if isinstance(value, list) else ("$tuple", tuple)
            first: Any = kind.__getitem__  # whatever a class of the answer's own says
            items = first(value, slice(MAX_ITEMS))
            return {name: [self.encode(item, depth) for item in items]}
        if isinstance(value, Mapping):
            pairs = islice(value.items(), MAX_ITEMS)
            return {"$dict": [[self.encode(k, depth), self.encode(v, depth)] for k, v in pairs]}
        if isinstance(value, Opaque):  # it was read before, and is sent on
            return {"$opaque": [value.kind, value.text]}
        return {"$opaque": [type(value).__name__, ""]}

    def _tensor(self, value: torch.Tensor) -> Any:
        with torch._C.DisableTorchFunctionSubclass():  # its class may say anything of itself
            plain = torch.Tensor.detach(value)
            if plain.layout is not torch.strided or plain.dtype not in DTYPES or plain.is_meta:
                return {"$opaque": [f"tensor of {plain.dtype}, {plain.layout}", ""]}
            plain = torch.Tensor.as_subclass(plain, torch.Tensor)
        if type(plain) is not torch.Tensor:
            return {"$opaque": [type(value).__name__, ""]}
        self._bytes += plain.numel() * plain.element_size() + HEADER
        if self._bytes > MAX_BLOB:
            return {"$opaque": [f"tensor of {plain.dtype}", "too large to send"]}
        name = str(len(self.tensors))
        self.tensors[name] = plain.cpu().contiguous()
        return {"$tensor": name}


def plain(value: Any) -> Any:
    """Return what the other side would receive of a value, at once: no code of an answer's own runs later."""
    encoder = Encoder()
    document = encoder.encode(value)
    return decode(document, {name: each.clone() for name, each in encoder.tensors.items()})


def pack(message: Any) -> bytes:
    """Return the frame of a message, a tree of dicts, lists, tuples, scalars and tensors.

    Other values become Opaque. Raises WireError if the frame would be too large.
    """
    encoder = Encoder(items=MAX_MESSAGE)
    text = json.dumps(encoder.encode(message)).encode()
    blob = _serialized(encoder.tensors) if encoder.tensors else b""
    if len(text) > MAX_JSON or len(blob) > MAX_BLOB:
        raise WireError(f"too large to send: {len(text)} bytes of JSON, {len(blob)} of tensors")
    return struct.pack("!II", len(text), len(blob)) + text + blob


def _serialized(tensors: Mapping[str, torch.Tensor]) -> bytes:
    """Return contiguous tensors as safetensors, as `safetensors.torch.save` does but ten times as fast."""
    specs = {
        name: TensorSpec(
            dtype=str(tensor.dtype).removeprefix("torch."),
            shape=tensor.shape,
            data_ptr=tensor.data_ptr(),
            data_len=tensor.nbytes,
        )
        for name, tensor in tensors.items()
    }
    return bytes(safetensors.serialize(specs))


def unpack(text: bytes, blob: bytes) -> Any:
    """Return the message in a frame's two parts. Raises WireError for anything unexpected."""
    try:
        tensors = safetensors.torch.load(blob) if blob else {}
        _require_dtypes(tensors.values())
        return decode(json.loads(text), tensors)
    except WireError:
        raise
    except Exception as problem:
        raise WireError(f"unreadable frame: {type(problem).__name__}") from problem


def unpack_frame(frame: bytes) -> Any:
    """Return the message in a frame, as `pack` made it. Raises WireError for anything unexpected."""
    (size,) = struct.unpack_from("!I", frame)
    return unpack(frame[8 : 8 + size], frame[8 + size :])


def _require_dtypes(tensors: Iterable[torch.Tensor]) -> None:
    """Raise WireError for a dtype that an encoder never sends. Much of torch rejects the others."""
    if unknown := {tensor.dtype for tensor in tensors} - DTYPES:
        raise WireError(f"a tensor of {unknown.pop()}")


def decode(node: Any, tensors: Mapping[str, torch.Tensor], depth: int = 0) -> Any:
    """Return the value that was encoded. Raises WireError for what no encoder makes."""
    if depth > MAX_DEPTH + 1:  # an encoder still says of a value that it is too deep
        raise WireError("a document that is too deep")
    match node:
        case None | bool() | int() | float() | str():
            return _scalar(node)
        case {"$tensor": name}:
            return tensors[name]
        case {"$float": name}:
            return NON_FINITE[name]
        case {"$opaque": [kind, text]}:
            return Opaque(str(kind), str(text))
        case {"$size": sizes}:
            return torch.Size(int(n) for n in sizes)
    return _container(node, lambda inner: decode(inner, tensors, depth + 1))


def _container(node: Any, decode: Callable[[Any], Any]) -> Any:
    match node:
        case {"$list": items}:
            return [decode(item) for item in items]
        case {"$tuple": items}:
            return tuple(decode(item) for item in items)
        case {"$dict": pairs}:
            return {_key(decode(key)): decode(value) for key, value in pairs}
    raise WireError("a bare list, or an object without a known tag")


def _scalar(value: Any) -> Any:
    """Return a scalar as it is. Raises WireError for one that an encoder never sends."""
    if isinstance(value, int) and abs(value) >= 2**63:
        raise WireError("a huge number")
    if isinstance(value, str) and len(value) > MAX_TEXT:
        raise WireError(f"a text of {len(value)} characters")
    return value


def _key(key: Any) -> Any:
    """Return a dictionary key, or its text if it cannot be hashed or compared."""
    return key if isinstance(key, (str, int, float, bool, tuple)) or key is None else repr(key)
