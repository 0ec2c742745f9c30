"""What a student wrote, and how operations reach into it: names, attributes, parameters."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

Namespace = Mapping[str, Any]


class StructureError(Exception):
    """A name, an attribute or a parameter's shape is not what the exercise asks for."""


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
            raise StructureError(f"There is no `{wanted}`: was the cell run, is the name spelt so?")
        if _is_stand_in(self.namespace[wanted]):
            raise StructureError(
                f"`{wanted}` is the stand-in that comes with the course: write your own."
            )
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
        try:
            here = here[int(step)] if step.isdigit() else getattr(here, step)
        except (AttributeError, IndexError, TypeError):
            owner = f"`{walked}`" if walked else f"Your {type(built).__name__}"
            raise StructureError(f"{owner} has no attribute `{step}`.") from None
        if here is None:
            raise StructureError(f"`{path}`: `{step}` is None (was bias=False used?).")
        walked = f"{walked}.{step}".lstrip(".")
    return here


def load(built: nn.Module, path: str, value: torch.Tensor) -> None:
    """Copy `value` into the parameter at a path; StructureError if it is none of that shape."""
    parameter = attribute(built, path)
    if not isinstance(parameter, torch.Tensor):
        raise StructureError(f"`{path}` should be a parameter, not {kind_of(parameter)}.")
    if parameter.shape != value.shape:
        raise StructureError(
            f"`{path}` has shape {tuple(parameter.shape)}; the exercise asks for {tuple(value.shape)}."
        )
    with torch.no_grad():
        parameter.copy_(value)


def kind_of(value: object) -> str:
    """Return the name of a value's type, "None" for None."""
    return "None" if value is None else type(value).__name__


def returned_tensor(value: Any) -> torch.Tensor:
    """Return what `forward` gave if it is a tensor; StructureError otherwise."""
    if not isinstance(value, torch.Tensor):
        raise StructureError(f"`forward` should return a tensor, not {kind_of(value)}.")
    return value


def first_tensor(value: Any) -> torch.Tensor:
    """Return a result, or the first of a returned pair, if it is a tensor."""
    first = value[0] if isinstance(value, (tuple, list)) and value else value
    return returned_tensor(first)
