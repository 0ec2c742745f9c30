"""Remembers torch, the built-in functions and the probe as they were, and restores what was replaced."""

import builtins
import contextlib
import ctypes
import gc
import inspect
import itertools
import math
import random
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any, Final

import torch
from torch import nn

from autograder.probe.notes import Kind, Notes

Holder = ModuleType | type
TORCHS: Final = (
    *(torch, nn, torch.nn.functional, torch.nn.init, torch.autograd, torch.overrides),
    *(torch.utils._pytree, torch.utils._python_dispatch, torch.jit._state),
)
PROBE = "autograder."  # its modules, and the fixtures of the lesson
VERSION: Final = (
    24  # bytes into a dictionary, where Python 3.11 has the version of its content (PEP 509)
)
REPLACED_BY_TORCH = ("Storage", "manual_seed")  # by a change of default dtype, and on first use


class Originals:
    """The functions and classes of some modules and classes, as they were when this was made."""

    def __init__(self, *more: Holder) -> None:
        """Remember what Python, torch and the probe define, and what `more` does."""
        modules = [builtins, contextlib, inspect, math, random, *TORCHS]
        probe = [module for name, module in sys.modules.items() if name.startswith(PROBE)]
        classes = [torch.Tensor, *_classes(nn), *itertools.chain(*map(_classes, probe)), *more]
        self._kept = {holder: _values(holder) for holder in (*modules, *probe, *classes)}
        self._classes = frozenset(classes)
        self._names = {holder: frozenset(vars(holder)) for holder in self._kept}
        self._holders = [(holder, holder.__name__, _content(holder)) for holder in self._kept]
        self._versions = [
            (place, _version(content)) for place, (_, _, content) in enumerate(self._holders)
        ]
        self._looked_at = [version.value for _, version in self._versions]

    def restore(self, notes: Notes) -> None:
        """Put back what was replaced, deleted or hidden, and note the name of each.

        What has not changed is not even looked up: counting a reference would make the run copy its memory.
        The built-in functions are put back first; until then none is called.
        """
        for place, version in self._versions:
            if version.value != self._looked_at[place] or not COUNTS_VERSIONS:
                self._restore(*self._holders[place], notes)
                self._looked_at[place] = version.value

    def _restore(self, holder: Holder, called: str, now: dict[str, Any], notes: Notes) -> None:
        """Put back what a module or class holds. Nothing of its own is asked: that may be replaced too."""
        kept = self._kept[holder]
        for name in [name for name, value in kept.items() if now.get(name) is not value]:
            if holder in self._classes:
                type.__setattr__(holder, name, kept[name])  # even if a metaclass prevents it
            else:
                now[name] = kept[name]
            notes.add(Kind.PATCHED, f"{called}.{name}")
        if holder in self._classes:
            for name in [name for name in now.keys() - self._names[holder] if _hides(holder, name)]:
                type.__delattr__(holder, name)  # was added to a class, and hides what it inherits
                notes.add(Kind.PATCHED, f"{called}.{name}")


def _content(holder: Holder) -> dict[str, Any]:
    """Return the dictionary that a module or class keeps its attributes in."""
    own: Any = vars(holder)
    found: dict[str, Any] = own if isinstance(own, dict) else gc.get_referents(own)[0]
    return found


def _version(content: dict[str, Any]) -> ctypes.c_uint64:
    """Return the number that changes whenever an entry of a dictionary is set or deleted.

    To look at that is a hundred times as fast as to look at the entries.
    """
    return ctypes.c_uint64.from_address(id(content) + VERSION)


def _counts_versions() -> bool:
    """Return whether this Python counts versions there. Later ones need not, and are looked at in full."""
    content = {"name": 0}
    version = _version(content)
    before = version.value
    content["name"] = 1
    return version.value != before


COUNTS_VERSIONS: Final = _counts_versions()


def _classes(module: ModuleType) -> Iterator[type]:
    """Yield the classes that a module or its submodules define."""
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


def _hides(holder: Any, name: str) -> bool:
    return any(name in vars(base) for base in type.mro(holder)[1:])
