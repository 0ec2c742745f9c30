"""Remembers torch, the built-in functions and the probe as they were, and restores what was replaced.

This is repair, not defence: a cell that assigns to `torch.exp` or `print` by accident should not spoil the
checks of the exercises after it.
"""

import builtins
import contextlib
import inspect
import itertools
import math
import random
import sys
from collections.abc import Iterator, Mapping
from types import FunctionType, ModuleType
from typing import Any, Final

import torch
from torch import nn

from autograder.probe.notes import Kind, Notes

Holder = ModuleType | type
# A class, its attributes now, those to put back, and the names that it had.
Remembered = tuple[Any, Mapping[str, Any], Mapping[str, Any], frozenset[str]]
TORCHS: Final = (torch, nn, torch.nn.functional, torch.nn.init, torch.autograd, torch.utils._pytree)
# The probe, the engine, and the fixtures of the lesson.
OURS: Final = ("autograder.", "coursework.engine.", "coursework.exclusions")
REPLACED_BY_TORCH: Final = ("Storage", "manual_seed")  # by a change of default dtype, and on first use


class Originals:
    """The functions and classes of some modules and classes, as they were when this was made."""

    def __init__(self, *more: type, whole: bool = True) -> None:
        """Remember what Python and the probe define, the classes in `more`, and as a `whole` torch as well.

        To compare all names of torch takes a millisecond, which is too long after every call.
        """
        modules = [builtins, contextlib, inspect, math, random, *(TORCHS if whole else ())]
        probe = [module for name, module in sys.modules.items() if name.startswith(OURS)]
        classes = [*itertools.chain(*map(_classes, probe)), *more]
        classes += [torch.Tensor, *_classes(nn)] if whole else []
        self._modules = [(each.__name__, vars(each), _values(each)) for each in (*modules, *probe)]
        self._classes: list[Remembered] = [
            (each, vars(each), _values(each), frozenset(vars(each))) for each in classes
        ]
        functions = [value for module in probe for value in _values(module).values()]
        self._code = [(f, f.__code__) for f in functions if isinstance(f, FunctionType)]

    def restore(self, notes: Notes) -> None:
        """Put back what was replaced, deleted or hidden, and note the name of each.

        The built-in functions come first; until they are back, none is called.
        """
        for module, now, kept in self._modules:
            for name, value in kept.items():
                if now.get(name) is not value:
                    now[name] = value
                    notes.add(Kind.PATCHED, f"{module}.{name}")
        for function, code in self._code:
            if function.__code__ is not code:
                function.__code__ = code
                notes.add(Kind.PATCHED, function.__name__)
        for holder, attributes, remembered, names in self._classes:
            for name, value in remembered.items():
                if attributes.get(name) is not value:
                    type.__setattr__(holder, name, value)  # even if a metaclass prevents it
                    notes.add(Kind.PATCHED, f"{holder.__name__}.{name}")
            for name in attributes.keys() - names:
                if any(name in vars(base) for base in type.mro(holder)[1:]):
                    type.__delattr__(holder, name)  # was added, and hides what the class inherits
                    notes.add(Kind.PATCHED, f"{holder.__name__}.{name}")


def _classes(module: ModuleType) -> Iterator[type]:
    for value in vars(module).values():
        if inspect.isclass(value) and value.__module__.startswith(module.__name__):
            yield value


def _values(holder: Holder) -> dict[str, Any]:
    """Return the functions and classes of a module or class. Other values may change in normal use."""
    return {
        name: value
        for name, value in vars(holder).items()
        if (callable(value) or isinstance(value, (property, staticmethod, classmethod)))
        and name not in REPLACED_BY_TORCH
    }
