"""Operations on an answer that is a function, or a dictionary, and how gradients are asked of arguments."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import torch

from autograder.probe.answer import Answer, Fault, StructureError, kind_of
from autograder.probe.operation import Operation


@dataclass(frozen=True)
class CallFunction(Operation):
    """Call the function; the result is what it returns."""

    args: Sequence[Any]
    kwargs: Mapping[str, Any] = field(default_factory=dict)

    handed: ClassVar[Sequence[str]] = ("args", "kwargs")
    named: ClassVar[Sequence[str]] = ("kwargs",)

    def run(self, answer: Answer) -> Any:
        """Call the function."""
        return answer.find()(*self.args, **self.kwargs)


@dataclass(frozen=True)
class FunctionGradients(CallFunction):
    """Call the function and backpropagate `cotangent` from its (first) output.

    The result is `output`, and `gradients` with one entry for each argument: None if it is not of
    floats, or if no gradient reached it.
    """

    cotangent: Any = None

    def run(self, answer: Answer) -> Any:
        """Call, and backpropagate to every float argument."""
        args = leaves(self.args)
        result = answer.find()(*computed(args), **self.kwargs)
        output = result[0] if isinstance(result, (tuple, list)) else result
        backpropagate(output, self.cotangent)
        return {"output": output, "gradients": [getattr(arg, "grad", None) for arg in args]}


@dataclass(frozen=True)
class ReadEntry(Operation):
    """Read the entry `key` of a dictionary of answers."""

    key: str

    @property
    def names(self) -> frozenset[str]:
        """The key."""
        return frozenset([self.key])

    def run(self, answer: Answer) -> Any:
        """Return the entry, a list for a tensor or an array; StructureError if there is none."""
        table = answer.find()
        if not isinstance(table, Mapping):
            raise StructureError(Fault.NOT_A_DICTIONARY, answer.name, kind_of(table))
        if self.key not in table:
            raise StructureError(Fault.NO_ENTRY, self.key)
        entry = table[self.key]
        return entry.tolist() if isinstance(entry, torch.Tensor) or _is_array(entry) else entry


def _is_array(value: Any) -> bool:
    """Return whether a value is numpy's, which a lesson need not have imported."""
    return type(value).__module__ == "numpy"


def leaves(args: Sequence[Any]) -> list[Any]:
    """Return arguments with every float tensor as a leaf, whose `grad` backpropagation fills in."""
    return [arg.clone().requires_grad_() if is_float(arg) else arg for arg in args]


def computed(args: Sequence[Any]) -> list[Any]:
    """Return the arguments as results of a computation, as they are inside a model.

    PyTorch refuses to modify a leaf, and what an answer changes in place has a check of its own.
    """
    return [arg.clone() if is_float(arg) else arg for arg in args]


def backpropagate(output: torch.Tensor, cotangent: torch.Tensor | None) -> None:
    """Backpropagate `cotangent` from an output, or, without one, from a single number.

    From an output that is cut off, no gradient reaches anything.

    The output is weighted and summed, which gives the same gradients: to take a cotangent as it is, torch
    imports 34 MB that every fork would copy.
    """
    if not output.requires_grad:
        return
    if cotangent is not None and output.shape == cotangent.shape:
        torch.autograd.backward((output * cotangent).sum())
    else:
        torch.autograd.backward(output, cotangent)


def is_float(value: Any) -> bool:
    """Return whether a value is a tensor that can have gradients."""
    return isinstance(value, torch.Tensor) and value.is_floating_point()
