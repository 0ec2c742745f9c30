"""Remembers torch, the built-in functions and the probe as they were, and restores what was replaced."""

import builtins
import ctypes
import gc
import inspect
import itertools
import math
import random
import sys
from collections.abc import Iterator, Mapping
from operator import is_
from types import ModuleType
from typing import Any, Final

import torch
from torch import nn

from autograder.probe.notes import Kind, Notes

Holder = ModuleType | type
PROBE = "autograder."  # its modules, and the fixtures of the lesson
VERSION: Final = (
    24  # bytes into a dictionary, where Python 3.11 has the version of its content (PEP 509)
)
REPLACED_BY_TORCH = ("Storage", "manual_seed")  # by a change of default dtype, and on first use


class Originals:
    """The functions and classes of some modules and classes, as they were when this was made."""

    def __init__(self, *more: Holder) -> None:
        """Remember what Python, torch and the probe define, and what `more` does."""
        modules = [builtins, math, random, torch, nn, torch.nn.functional, torch.nn.init]
        probe = [module for name, module in sys.modules.items() if name.startswith(PROBE)]
        classes = [torch.Tensor, *_classes(nn), *itertools.chain(*map(_classes, probe)), *more]
        self._kept = {holder: _values(holder) for holder in (*modules, *probe, *classes)}
        self._names = {holder: frozenset(vars(holder)) for holder in self._kept}
        self._versions = [(_version(holder), holder) for holder in self._kept]
        self._looked_at = [version.value for version, _ in self._versions]

    def restore(self, notes: Notes) -> None:
        """Put back what was replaced, deleted or hidden, and note the name of each."""
        for place, (version, holder) in enumerate(self._versions):
            if version.value != self._looked_at[place] or not COUNTS_VERSIONS:
                self._restore(holder, notes)
                self._looked_at[place] = version.value

    def _restore(self, holder: Holder, notes: Notes) -> None:
        kept, now = self._kept[holder], vars(holder)
        if not all(map(is_, map(now.get, kept), kept.values())):
            _put_back(holder, kept, notes)
        if isinstance(holder, type) and not self._names[holder].issuperset(now):
            self._uncover(holder, notes)

    def _uncover(self, holder: type, notes: Notes) -> None:
        """Remove attributes that were added to a class and hide what it inherits."""
        for name in vars(holder).keys() - self._names[holder]:
            if any(name in vars(base) for base in holder.__mro__[1:]):
                type.__delattr__(holder, name)
                notes.add(Kind.PATCHED, f"{holder.__name__}.{name}")


def _version(holder: Holder) -> ctypes.c_uint64:
    """Return the number that changes whenever an attribute of a module or class is set or deleted.

    To look at that is a hundred times as fast as to look at the attributes.
    """
    own = vars(holder)
    return _version_of(own if isinstance(own, dict) else gc.get_referents(own)[0])


def _version_of(content: dict[str, Any]) -> ctypes.c_uint64:
    return ctypes.c_uint64.from_address(id(content) + VERSION)


def _counts_versions() -> bool:
    """Return whether this Python counts versions there. Later ones need not, and are looked at in full."""
    content = {"name": 0}
    version = _version_of(content)
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


def _put_back(holder: Holder, kept: Mapping[str, Any], notes: Notes) -> None:
    for name, value in kept.items():
        if vars(holder).get(name) is not value:
            _set(holder, name, value)
            notes.add(Kind.PATCHED, f"{holder.__name__}.{name}")


def _set(holder: Holder, name: str, value: Any) -> None:
    """Set an attribute, even if a metaclass was changed to prevent it."""
    if isinstance(holder, ModuleType):
        vars(holder)[name] = value
    else:
        type.__setattr__(holder, name, value)
