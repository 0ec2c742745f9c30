"""Remembers how torch, the language and the probe were, and puts back what a submission replaced."""

import builtins
import inspect
import math
import random
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import torch
from torch import nn

from autograder.probe import wire
from autograder.probe.scenarios import SCENARIOS
from autograder.probe.watch import PATCHED

Holder = ModuleType | type
ITS_OWN = (
    "Storage",
    "manual_seed",
)  # torch replaces these itself, with its default dtype and on demand


class Originals:
    """The values of names that others rely on, as they were when this was made."""

    def __init__(self, *more: Holder) -> None:
        holders = [builtins, math, random, torch, nn, torch.nn.functional, torch.nn.init]
        self._kept = {holder: _values(holder) for holder in (*holders, *_classes(), wire, *more)}
        self._names = {holder: frozenset(vars(holder)) for holder in self._kept}
        self._scenarios = dict(SCENARIOS)

    def restore(self, note: Callable[[str, str], None]) -> None:
        """Put back what was replaced, deleted or hidden, and note the name of each."""
        for holder, kept in self._kept.items():
            now = vars(holder)
            for name, value in kept.items():
                if now.get(name, self) is not value:
                    _put(holder, name, value)
                    note(PATCHED, f"{holder.__name__}.{name}")
            if isinstance(holder, type):
                self._uncover(holder, note)
        if self._scenarios != SCENARIOS:
            SCENARIOS.clear()
            SCENARIOS.update(self._scenarios)
            note(PATCHED, "the probe")

    def _uncover(self, holder: type, note: Callable[[str, str], None]) -> None:
        """Take away what was added to a class in front of what it inherits."""
        for name in vars(holder).keys() - self._names[holder]:
            if any(name in vars(base) for base in holder.__mro__[1:]):
                type.__delattr__(holder, name)
                note(PATCHED, f"{holder.__name__}.{name}")


def _classes() -> Iterator[type]:
    """Yield the tensor, and every class of torch.nn."""
    yield torch.Tensor
    for value in vars(nn).values():
        if inspect.isclass(value) and issubclass(value, nn.Module):
            yield value


def _values(holder: Holder) -> dict[str, Any]:
    """Return the functions and classes of a module or class; its variables are nobody's promise."""
    plain = (property, staticmethod, classmethod)
    return {
        name: value
        for name, value in vars(holder).items()
        if (callable(value) or isinstance(value, plain)) and name not in ITS_OWN
    }


def _put(holder: Holder, name: str, value: Any) -> None:
    """Set an attribute, past a metaclass that has been made to object."""
    if isinstance(holder, ModuleType):
        vars(holder)[name] = value
    else:
        type.__setattr__(holder, name, value)
