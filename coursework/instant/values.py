"""Stores the inputs and results of examples as JSON beside a table of tensors, and reads them back."""

import math
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any

import torch

Tensors = MutableMapping[str, torch.Tensor]


@dataclass(frozen=True)
class Other:
    """A result that examples cannot hold: only the name of its type is kept."""

    kind: str


def pack(value: Any, tensors: Tensors) -> Any:
    """Return a value as JSON; its tensors go to `tensors`, and their names into the JSON."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": str(value)}
    if isinstance(value, torch.Tensor):
        return {"tensor": _stored(value, tensors)}
    return _pack_nested(value, tensors)


def _pack_nested(value: Any, tensors: Tensors) -> Any:
    if isinstance(value, list):
        return [pack(item, tensors) for item in value]
    if isinstance(value, tuple):
        return {"tuple": [pack(item, tensors) for item in value]}
    if isinstance(value, Mapping):
        return {"dict": [[pack(key, tensors), pack(item, tensors)] for key, item in value.items()]}
    return {"other": value.kind if isinstance(value, Other) else type(value).__name__}


def _stored(value: torch.Tensor, tensors: Tensors) -> str:
    """Return the name of a tensor in the table: that of an equal one if there is one already."""
    plain = value.detach().cpu().contiguous().clone()
    for name, known in tensors.items():
        if known.dtype == plain.dtype and known.shape == plain.shape and _equal(known, plain):
            return name
    name = str(len(tensors))
    tensors[name] = plain
    return name


def _equal(a: torch.Tensor, b: torch.Tensor) -> bool:
    return bool(torch.equal(torch.nan_to_num(a), torch.nan_to_num(b)) and torch.equal(a.isnan(), b.isnan()))


def unpack(stored: Any, tensors: Mapping[str, torch.Tensor]) -> Any:
    """Return the value that `pack` stored; tensors are copies, so that nobody can change an example."""
    if isinstance(stored, list):
        return [unpack(item, tensors) for item in stored]
    if not isinstance(stored, dict):
        return stored
    kind, content = next(iter(stored.items()))
    if kind == "tensor":
        return tensors[content].clone()
    if kind == "dict":
        return {unpack(key, tensors): unpack(item, tensors) for key, item in content}
    return _UNPACK[kind](stored, tensors)


_UNPACK: Mapping[str, Callable[[Any, Mapping[str, torch.Tensor]], Any]] = {
    "float": lambda stored, _: float(stored["float"]),
    "tuple": lambda stored, tensors: tuple(unpack(item, tensors) for item in stored["tuple"]),
    "other": lambda stored, _: Other(stored["other"]),
}
