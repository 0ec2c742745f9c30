"""The types that a message may name: those of Python, torch, NumPy and matplotlib, never a student's.

A class can be called anything, and so carry what a message must not repeat.
"""

import builtins
import types
from collections.abc import Iterable

import numpy as np
import torch
from torch import nn

from autograder.model.observation import Raised
from autograder.probe.answer import kind_of

OWN_CLASS = "a value of a class of your own"
_FIGURES = ("Axes", "AxesSubplot", "Figure", "QuadMesh", "AxesImage")
_CONTAINERS = ("Counter", "OrderedDict", "defaultdict", "deque", "dict_keys", "dict_values", "dict_items")


def _classes(*modules: object) -> Iterable[str]:
    """Return the names of the public classes of these modules."""
    found = (value for module in modules for value in vars(module).values())
    return [value.__name__ for value in found if isinstance(value, type)]


_ALL = frozenset(
    (*_classes(builtins, types, np, np.exceptions, np.linalg, torch, torch.linalg, nn), "LinAlgError")
)
EXCEPTIONS = frozenset(name for name in _ALL if name.endswith(("Error", "Exception", "Interrupt"))) | {
    "StopIteration", "StopAsyncIteration", "GeneratorExit", "SystemExit", "Warning",
}  # fmt: skip
TYPES = (_ALL - EXCEPTIONS) | frozenset((*_FIGURES, *_CONTAINERS))


def exception_name(raised: Raised) -> str:
    """Return an exception's type if it is a known one, else its nearest base that is."""
    return next((name for name in (raised.kind, *raised.bases) if name in EXCEPTIONS), "Exception")


def of_type(value: object) -> str:
    """Return what a value that came back is, such as 'a tuple' or 'None'."""
    return type_words(kind_of(value))


def type_words(name: str) -> str:
    """Return a type's name with its article; what a student defined is called a class of their own."""
    if name in ("None", "NoneType"):
        return "None"
    if name == "ndarray":
        return "a NumPy array"
    if name.startswith("tensor of "):  # what the wire says of a tensor that it does not send
        return "a sparse, quantised or complex tensor"
    return with_article("tensor" if name == "Tensor" else name) if name in TYPES else OWN_CLASS


def with_article(name: str) -> str:
    """Return a name with 'a' or 'an' before it."""
    vowel = name[0].lower() in "aeio" or name.startswith("Unbound")
    return f"{'an' if vowel else 'a'} {name}"
