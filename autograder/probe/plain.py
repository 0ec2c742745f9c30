"""Makes plain values of what an answer returned, as long as its calls are still watched.

A tensor of a class of one's own, or a tuple that works out its items when they are asked for, could
otherwise do its work later, where nobody looks.
"""

import numbers
from collections.abc import Mapping
from itertools import islice
from typing import Any

import torch

from autograder.probe.wire import MAX_DEPTH, MAX_ITEMS, Opaque

AS_IT_IS = (type(None), bool, int, float, str, torch.Size)
_detach, _clone = torch.Tensor.detach, torch.Tensor.clone
_without_overrides = (
    torch._C.DisableTorchFunctionSubclass
)  # before it is replaced by one that tells


def plain(value: Any) -> Any:
    """Return a value of Python's and torch's own types. What is neither a container nor a number stays."""
    return _Plain().of(value)


def copied(value: Any) -> Any:
    """Return containers of Python's own types with copies of their tensors.

    Only by what a student's code cannot have replaced: nobody looks at what runs meanwhile.
    """
    if isinstance(value, torch.Tensor):
        return _clone(_detach(value))
    if isinstance(value, dict):
        return {key: copied(item) for key, item in value.items()}
    if type(value) in (list, tuple):
        return type(value)(map(copied, value))
    return value


class _Plain:
    def __init__(self) -> None:
        self._items = 0

    def of(self, value: Any, depth: int = 0) -> Any:
        self._items += 1
        if type(value) in AS_IT_IS:
            return value
        if depth > MAX_DEPTH or self._items > MAX_ITEMS:
            return Opaque(type(value).__name__, "too deep or too long to send")
        if isinstance(value, torch.Tensor):
            return _tensor(value)
        if isinstance(value, str):
            return str.__str__(value)
        if isinstance(value, numbers.Real):
            return int(value) if isinstance(value, numbers.Integral) else float(value)
        return self._container(value, depth + 1)

    def _container(self, value: Any, depth: int) -> Any:
        if isinstance(value, list):
            return [self.of(item, depth) for item in list.__getitem__(value, slice(MAX_ITEMS))]
        if isinstance(value, tuple):
            items = tuple.__getitem__(value, slice(MAX_ITEMS))
            return tuple(self.of(item, depth) for item in items)
        if isinstance(value, Mapping):
            pairs = islice(value.items(), MAX_ITEMS)
            return {_key(self.of(key, depth)): self.of(item, depth) for key, item in pairs}
        return value


def _tensor(value: torch.Tensor) -> Any:
    """Return a tensor without attributes and methods of its own, Opaque if it does not let itself."""
    if type(value) is torch.Tensor and not value.__dict__:
        return value
    with _without_overrides():
        found = torch.Tensor.as_subclass(value, torch.Tensor)
    return found if type(found) is torch.Tensor else Opaque(type(value).__name__)


def _key(key: Any) -> Any:
    return key if isinstance(key, (str, int, float, tuple)) or key is None else repr(key)
