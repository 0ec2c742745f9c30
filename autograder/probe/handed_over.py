"""Looks at what is handed to torch's functions.

Torch switches a mode off while it runs what the mode was told of, and may call the student's code back
meanwhile: a function that it was handed, or an object that it asks for its number or its items.
"""

import functools
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import FunctionType, GetSetDescriptorType, MemberDescriptorType, MethodType
from typing import Any, Final

import numpy as np
import torch

from autograder.probe.caller import is_believed

TENSORS: Final = {torch.Tensor, torch.nn.Parameter}  # plain as long as nothing is attached to them
PLAIN: Final = {
    *(torch.Size, torch.dtype, torch.device, torch.layout, torch.memory_format, torch.Generator),
    *(type(None), type(...), int, float, complex, bool, str, bytes, range, dict),
    *(np.float32, np.float64, np.int64),
}
OF_C: Final = {  # the kinds of functions that hold no code of Python's
    *(type(len), type(str.join), type(object.__str__), type(object().__str__)),
    *(GetSetDescriptorType, MemberDescriptorType),
}
STANDS_FOR_ANOTHER: Final = frozenset({weakref.ProxyType, weakref.CallableProxyType})
NUMBERS: Final = ("__float__", "__int__", "__index__", "__complex__", "__bool__")
ITEMS: Final = ("__getitem__", "__iter__", "__len__")
OVERRIDES: Final = ("__torch_function__", "__torch_dispatch__")
Wrap = Callable[[Callable[..., Any]], Callable[..., Any]]

# The classes that were there before a student's code ran, among them those that hand on what they hold,
# and those of torch; none where no student's code runs
_known: set[type] = set()
_holders: set[type] = set()
_torchs: set[type] = set()


class ForeignObjectError(Exception):
    """An argument of torch's that can run code of its own while nobody looks."""


def remember() -> None:
    """Take the classes that exist now, before a student's code runs, as known."""
    found = [object]
    while found:
        kind = found.pop()
        if kind not in _known:
            _known.add(kind)
            found += type.__subclasses__(kind)
    _known.difference_update(STANDS_FOR_ANOTHER)
    _holders.update(filter(_hands_on, _known))
    _torchs.update(kind for kind in _known if _maker(kind) == "torch")


def _hands_on(kind: type) -> bool:
    """Return whether objects of a known class may ask objects of a student's kind: containers, fractions."""
    asked = any(name in vars(base) for base in kind.__mro__ for name in (*NUMBERS, *ITEMS))
    return asked and _maker(kind) not in ("builtins", "torch", "numpy", "enum", "array")


def _maker(kind: type) -> str:
    return str(kind.__module__).partition(".")[0]


def handed(arguments: Sequence[Any], wrap: Wrap) -> Sequence[Any]:
    """Return the arguments of a call, with functions among them wrapped.

    Raises ForeignObjectError for an object of the student's own kind that torch could call back.
    """
    if are_plain(arguments):
        return arguments
    return tuple(_handed(value, wrap) for value in arguments)


def handed_by_name(arguments: Mapping[str, Any], wrap: Wrap) -> Mapping[str, Any]:
    """Return the named arguments of a call, as `handed` does."""
    if are_plain(arguments.values()):
        return arguments
    return {name: _handed(value, wrap) for name, value in arguments.items()}


def runs_no_code(function: Any) -> bool:
    """Return whether the function that torch reports as called is torch's own, or written in C."""
    kind = type(function)
    if kind in OF_C or not _known:
        return True
    if kind is MethodType:
        return runs_no_code(function.__func__)
    if kind is FunctionType:
        return is_believed(function.__code__.co_filename)
    return function in _known if issubclass(kind, type) else kind in _torchs


def are_plain(values: Iterable[Any]) -> bool:
    """Return whether values run no code at all. Of each call of torch's, this is asked."""
    for value in values:
        kind = type(value)
        if kind not in PLAIN and not (
            kind in TENSORS
            and (not value.__dict__ or PLAIN.issuperset(map(type, value.__dict__.values())))
        ):
            return False
    return True


def _handed(value: Any, wrap: Wrap) -> Any:
    """Return an argument as it is, or a function wrapped; raise as `handed` does."""
    kind = type(value)
    if are_plain([value]):
        return value
    if kind in TENSORS:
        raise ForeignObjectError  # with something attached that torch may find there
    if kind is slice:
        _look_into((value.start, value.stop, value.step), wrap)
        return value
    if kind in (list, tuple) or (issubclass(kind, (list, tuple)) and _inherits(kind, ITEMS)):
        _look_into(value, wrap)
        return value
    if isinstance(value, torch.nn.Module):
        raise ForeignObjectError  # torch can call it, and asks for no module
    if callable(value) and not isinstance(value, (type, torch.Tensor)):
        return wrap(value)
    if not _is_harmless(value):
        raise ForeignObjectError
    return value


def _is_harmless(value: Any) -> bool:
    """Return whether torch, asking an object for its number or its items, runs no code of a student's."""
    kind = type(value)
    if not _known:
        return True
    if isinstance(value, type):
        return value in _known or (issubclass(value, torch.Tensor) and _inherits(value, OVERRIDES))
    if issubclass(kind, torch.Tensor):
        return kind in _known or _inherits(kind, OVERRIDES)
    if isinstance(value, np.ndarray) and value.dtype.hasobject:
        return False
    if kind in _known:
        return kind not in _holders
    own = (int, float, str)
    return issubclass(kind, own) and _inherits(kind, (*NUMBERS, *ITEMS))


def _look_into(items: Sequence[Any], wrap: Wrap) -> None:
    """Look at the items of a list or a tuple; a function among them is of no use to torch."""
    inner: Any = list if isinstance(items, list) else tuple  # whatever a class of its own says
    if not are_plain(inner.__iter__(items)):
        for item in inner.__iter__(items):
            _handed(item, wrap)


def _inherits(kind: type, names: Sequence[str]) -> bool:
    """Return whether a class leaves some methods as the known class that it derives from has them."""
    owners = (next((base for base in kind.__mro__ if name in vars(base)), object) for name in names)
    return all(owner in _known for owner in owners)


def wrapped(function: Callable[..., Any], around: Callable[[], Any]) -> Callable[..., Any]:
    """Return a function that runs within the context that `around` makes."""

    @functools.wraps(function, assigned=())
    def run(*args: Any, **kwargs: Any) -> Any:
        with around():
            return function(*args, **kwargs)

    return run
