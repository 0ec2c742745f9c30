"""What a student wrote, and how operations reach into it: names, attributes, parameters."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import torch
from torch import nn

from autograder.probe.wire import Opaque

Namespace = Mapping[str, Any]


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
    NOT_A_MODULE = "not a module"
    NOT_A_TENSOR = "not a tensor"
    NOT_THREE_DIMENSIONS = "not three dimensions"
    SHAPE_VARIES = "shape varies"
    NOT_A_DICTIONARY = "not a dictionary"
    NO_ENTRY = "no entry"


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
        if _is_stand_in(self.namespace[wanted]):
            raise StructureError(Fault.STAND_IN, wanted)
        return self.namespace[wanted]


def _is_stand_in(found: Any) -> bool:
    """Return whether a function or class comes from the package that students are given."""
    kinds = found.__mro__ if isinstance(found, type) else (found,)
    return any(str(getattr(kind, "__module__", "")).startswith("coursework.") for kind in kinds)


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


def first_tensor(value: Any) -> torch.Tensor:
    """Return a result, or the first of a returned pair, if it is a tensor."""
    first = value[0] if isinstance(value, (tuple, list)) and value else value
    return returned_tensor(first)
