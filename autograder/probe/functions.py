"""Operations on an answer that is a function, or a dictionary."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, ClassVar

import torch

from autograder.probe.answer import Answer, Fault, StructureError, kind_of
from autograder.probe.gradients import backpropagate, computed, leaves
from autograder.probe.operation import Operation


@dataclass(frozen=True)
class CallFunction(Operation):
    """Call the function; the result is what it returns."""

    args: Sequence[Any]
    kwargs: Mapping[str, Any] = field(default_factory=dict)

    handed: ClassVar[Sequence[str]] = ("args", "kwargs")

    @property
    def arguments(self) -> Sequence[Any]:
        """The arguments, positional ones first."""
        return [*self.args, *self.kwargs.values()]

    @property
    def names(self) -> frozenset[str]:
        """The keyword arguments."""
        return frozenset(self.kwargs)

    def run(self, answer: Answer) -> Any:
        """Call the function."""
        return answer.find()(*self.args, **self.kwargs)


@dataclass(frozen=True)
class CallInMillionths(CallFunction):
    """Call the function; a number comes back in millionths, because small ones vanish in a tolerance."""

    def run(self, answer: Answer) -> Any:
        """Call, and scale."""
        result = super().run(answer)
        known = isinstance(result, (Real, torch.Tensor)) and not isinstance(result, bool)
        return result * 1e6 if known else result


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
        if output.requires_grad:  # if it is cut off, no gradient reaches anything: each stays None
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
