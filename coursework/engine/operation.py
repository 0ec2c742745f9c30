"""An operation: one thing that is done with an answer, as a typed record, and how it reaches into the answer.

The judge runs the same operation on the reference, in its own process, and compares the results.
General operations are in `operations`. What only one lesson needs is in that lesson's `fixtures`, which is
the only module of a lesson that the sandbox can see.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from importlib import import_module
from types import ModuleType
from typing import Any, ClassVar, TypeVar

import torch
from torch import nn
from torch.utils._pytree import tree_map_only

from coursework.engine.values import Opaque

Namespace = Mapping[str, Any]
_hidden: dict[str, ModuleType] = {}

AnyOperation = TypeVar("AnyOperation", bound="Operation")


class Fault(StrEnum):
    """In which way a part of an answer is not what an exercise asks for. The judge has the sentences."""

    UNBOUND = "unbound"
    STAND_IN = "stand-in"
    NO_ATTRIBUTE = "no attribute"
    NO_PART = "no part"
    NONE = "none"
    NOT_A_PARAMETER = "not a parameter"
    EXCHANGED = "exchanged"
    OTHER_SHAPE = "other shape"
    OUTPUT_SHAPE = "output shape"
    NOT_A_MODULE = "not a module"
    NOT_A_TENSOR = "not a tensor"
    NOT_THREE_DIMENSIONS = "not three dimensions"
    SHAPE_VARIES = "shape varies"
    NOT_A_DICTIONARY = "not a dictionary"
    NO_ENTRY = "no entry"
    NO_RESULT = "no result"


class StructureError(Exception):
    """A part of an answer is not what the exercise asks for.

    Args:
        fault: a Fault, or a key of the operation's own `faults`.
        path: the part that it is about, as the operation names it.
        detail: what came instead. It tells mistakes apart; of it, only the name of a known type is told.
    """

    def __init__(self, fault: str, path: str = "", detail: str = "") -> None:
        super().__init__(" ".join(filter(None, (fault, path, detail))))
        self.fault, self.path, self.detail = str(fault), path, detail


@dataclass(frozen=True)
class Answer:
    """A student's namespace, and the name that the exercise is about."""

    namespace: Namespace
    name: str

    def find(self, name: str = "") -> Any:
        """Return what is bound to `name`, by default the exercise's own.

        Raises StructureError if nothing is, or if it is one of the course's stand-ins.
        """
        wanted = name or self.name
        if wanted not in self.namespace:
            raise StructureError(Fault.UNBOUND, wanted)
        found = self.namespace[wanted]
        kinds = found.__mro__ if isinstance(found, type) else (found,)
        if any(str(getattr(kind, "__module__", "")).startswith("coursework.") for kind in kinds):
            raise StructureError(Fault.STAND_IN, wanted)
        return found


def attribute(built: Any, path: str) -> Any:
    """Return what a dotted path such as `layers.0.norm1` leads to; a number is an index.

    Raises StructureError where the path ends early.
    """
    here, walked = built, ""
    for step in path.split("."):
        walked = f"{walked}.{step}".lstrip(".")
        try:
            here = here[int(step)] if step.isdigit() else getattr(here, step)
        except (AttributeError, IndexError, TypeError):
            fault = Fault.NO_PART if step.isdigit() else Fault.NO_ATTRIBUTE
            raise StructureError(fault, walked) from None
        if here is None:
            raise StructureError(Fault.NONE, walked)
    return here


def load(built: nn.Module, path: str, value: torch.Tensor) -> None:
    """Copy `value` into the parameter at a path; StructureError if it is none of that shape."""
    parameter = attribute(built, path)
    if not isinstance(parameter, torch.Tensor):
        raise StructureError(Fault.NOT_A_PARAMETER, path, kind_of(parameter))
    if parameter.shape != value.shape:
        exchanged = parameter.dim() == 2 and parameter.shape == value.shape[::-1]
        fault = Fault.EXCHANGED if exchanged else Fault.OTHER_SHAPE
        raise StructureError(fault, path, str(tuple(parameter.shape)))
    with torch.no_grad():
        torch.Tensor.copy_(parameter, value)


def kind_of(value: object) -> str:
    """Return the name of a value's type, "None" for None."""
    if isinstance(value, Opaque):
        return value.kind
    return "None" if value is None else type(value).__name__


def returned_tensor(value: Any) -> torch.Tensor:
    """Return what `forward` gave if it is a tensor; StructureError otherwise."""
    if not isinstance(value, torch.Tensor):
        raise StructureError(Fault.NOT_A_TENSOR, detail=kind_of(value))
    return value


def returned_tensors(values: Any) -> list[torch.Tensor]:
    """Return a list of what `forward` gave each time if all are tensors; StructureError otherwise."""
    return [returned_tensor(value) for value in values]


def returned_something(value: Any) -> Any:
    """Return what a call gave; StructureError for None, as after a missing `return`."""
    if value is None:
        raise StructureError(Fault.NO_RESULT, detail="None")
    return value


def returned_pair(value: Any) -> tuple[Any, Any]:
    """Return the two parts of what a call gave; StructureError (fault "pair") if there are not two."""
    if not isinstance(returned_something(value), (tuple, list)) or len(value) != 2:
        raise StructureError("pair", detail=kind_of(value))
    return value[0], value[1]


def first_tensor(value: Any) -> torch.Tensor:
    """Return a result, or the first of a returned pair, if it is a tensor."""
    first = value[0] if isinstance(value, (tuple, list)) and value else value
    return returned_tensor(first)


@dataclass(frozen=True)
class Operation:
    """Base of all operations. A subclass is a frozen dataclass of values that can be sent.

    `arguments_in` are the fields that hold what the answer is called with: a tensor, or a sequence or
    mapping of arguments. `named` are the fields whose keys or entries messages may name: the table declares
    these, and none is drawn. Whether an answer depends on chance, or on what was called before, is found out
    with operations that are `repeated`. The judge extends some operations with a `read` of its own; these are
    `sent_as` the one that they extend, and a process never hears what is read.
    """

    arguments_in: ClassVar[Sequence[str]] = ()
    named: ClassVar[Sequence[str]] = ()
    repeated: ClassVar[bool] = True
    sent_as: ClassVar["type[Operation] | None"] = None

    def run(self, answer: Answer) -> Any:
        """Do it to an answer and return what came of it.

        Raises what the answer raises, and StructureError if a part of the answer is not there.
        """
        raise NotImplementedError

    def read(self, value: Any) -> Any:
        """Return what is to be compared: what `run` returned, or facts that are worked out from it.

        Only ever called in the grader's process. The value may be anything, because a student's code may have
        had a hand in it: whatever is not of the right form raises. It is never returned as a fact.
        """
        return value

    @property
    def arguments(self) -> Sequence[Any]:
        """What the answer is handed, and may not change: tensors, lists, dictionaries."""
        found: list[Any] = []
        for value in (getattr(self, name) for name in self.arguments_in):
            if isinstance(value, torch.Tensor):
                found.append(value)
            else:
                found += value.values() if isinstance(value, Mapping) else value
        return found

    @property
    def names(self) -> frozenset[str]:
        """The paths, keys and parameters that messages may name."""
        return frozenset(key for name in self.named for key in getattr(self, name))

    @property
    def faults(self) -> Mapping[str, str]:
        """A sentence for each fault that only this operation finds; `{kind}` is the type that came."""
        return {}


def fields_of(operation: Operation) -> dict[str, Any]:
    """Return an operation's fields by name, not copied."""
    return {field.name: getattr(operation, field.name) for field in fields(operation)}


def packed(operation: Operation) -> dict[str, Any]:
    """Return what is sent of an operation: its class as `module:Class`, and its fields by name.

    Those that it is made of are packed as well.
    """
    kind = operation.sent_as or type(operation)
    values = {field.name: getattr(operation, field.name) for field in fields(kind)}
    sent = tree_map_only(Operation, packed, values)
    return {"operation": f"{kind.__module__}:{kind.__qualname__}", "fields": sent}


def with_tensors(operation: AnyOperation, change: Callable[[torch.Tensor], torch.Tensor]) -> AnyOperation:
    """Return an operation with every tensor changed, in the operations that it is made of as well."""

    def changed(part: Any) -> Any:
        return with_tensors(part, change) if isinstance(part, Operation) else change(part)

    return replace(operation, **tree_map_only((torch.Tensor, Operation), changed, fields_of(operation)))


def make(path: str, values: Mapping[str, Any]) -> Operation:
    """Return the operation at `path` with these fields; the inverse of `packed`."""
    place, name = path.split(":")
    module = _hidden.get(place) or import_module(place)
    operation: Operation = getattr(module, name)(**values)
    return operation


def hide_modules(*packages: str) -> None:
    """Keep the modules of some packages to ourselves from now on: a cell that imports one gets another."""
    prefixes = tuple(f"{package}." for package in packages)
    for name in [name for name in sys.modules if f"{name}.".startswith(prefixes)]:
        _hidden[name] = sys.modules.pop(name)
        parent, _, child = name.rpartition(".")
        if parent in sys.modules and hasattr(sys.modules[parent], child):
            delattr(sys.modules[parent], child)
