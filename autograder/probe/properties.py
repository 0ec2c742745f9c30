"""Operations that ask what should hold of every answer. Each is made of operations on that answer.

The judge's side of them is `judge.properties`.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, ClassVar

import torch
from torch.utils._pytree import tree_map_only

from autograder.probe.answer import Answer
from autograder.probe.modules import CallModule
from autograder.probe.operation import Operation, make

SEED = 20  # of the random state before each of two calls that should give the same


@dataclass(frozen=True)
class AskEach(Operation):
    """Run several operations; the result is a list. In a process they arrive packed."""

    asked: Sequence[Operation | Mapping[str, Any]] = ()

    repeated: ClassVar[bool] = False  # there are checks that ask for one operation of the kind

    @property
    def operations(self) -> list[Operation]:
        """The operations."""
        return [
            each if isinstance(each, Operation) else make(each["operation"], each["fields"])
            for each in self.asked
        ]

    @property
    def names(self) -> frozenset[str]:
        """What the messages about one of the operations may name, besides names of its own."""
        return super().names.union(*(operation.names for operation in self.operations))

    @property
    def faults(self) -> Mapping[str, str]:
        """The faults that one of the operations finds."""
        return {name: said for each in self.operations for name, said in each.faults.items()}

    def run(self, answer: Answer) -> Any:
        """Run one after the other."""
        return [operation.run(answer) for operation in self.operations]

    def read(self, value: Any) -> Any:
        """Read each of the results."""
        pairs = zip(self.operations, value, strict=True)
        return [operation.read(result) for operation, result in pairs]


@dataclass(frozen=True)
class AskStrided(AskEach):
    """Run operations with tensors that hold the same numbers, but with gaps between them in memory."""

    @property
    def operations(self) -> list[Operation]:
        """The operations, with every tensor among the arguments of a call laid out anew."""
        return [_strided(operation) for operation in super().operations]


def _strided(operation: Operation) -> Operation:
    parts = {name: getattr(operation, name) for name in operation.handed}
    return replace(operation, **tree_map_only(torch.Tensor, _not_contiguous, parts))


def _not_contiguous(x: torch.Tensor) -> torch.Tensor:
    """Return the same numbers as a slice of a larger tensor, or else as every second of a row."""
    large = x.new_zeros([size + 1 for size in x.shape])
    found = large[tuple(slice(size) for size in x.shape)].copy_(x)
    return torch.stack([x, x], dim=-1)[..., 0] if found.is_contiguous() else found


class Kept(StrEnum):
    """What a call should leave as it was, in the process and in the module that it calls."""

    GRADIENTS = "gradients"
    DTYPE = "default dtype"
    DEVICE = "default device"
    SEED = "random seed"
    MODE = "mode"
    WEIGHTS = "weights"


@dataclass(frozen=True)
class AskForSettings(AskEach):
    """Run operations; the result is their `results`, and for each of `Kept` whether it is as before.

    To draw random numbers is no fault, as initialisation and dropout do, but to set their seed is. What
    was kept is about the process itself, so it stays a claim.
    """

    def run(self, answer: Answer) -> Any:
        """Run, and compare what was before with what is after."""
        kept = dict.fromkeys(map(str, Kept), True)
        results = []
        for operation in self.operations:
            before = _settings()
            if isinstance(operation, CallModule):
                results.append(_call_and_look(operation, answer, kept))
            else:
                results.append(operation.run(answer))
            after = _settings()
            kept |= {name: kept[name] and after[name] == before[name] for name in before}
        return {"results": results, **kept}

    def read(self, value: Any) -> Any:
        """Read each of the results."""
        return {**value, "results": super().read(value["results"])}


def _settings() -> dict[str, Any]:
    return {
        Kept.GRADIENTS.value: torch.is_grad_enabled(),
        Kept.DTYPE.value: torch.get_default_dtype(),
        Kept.DEVICE.value: torch.get_default_device(),
        Kept.SEED.value: torch.initial_seed(),
    }


def _call_and_look(operation: CallModule, answer: Answer, kept: dict[str, bool]) -> Any:
    """Build and call, and note in `kept` what the call changed in the module itself."""
    built = operation.build(answer)
    modes = [(part, part.training) for part in built.modules()]
    weights = [(weight, weight.detach().clone()) for weight in built.parameters()]
    result = operation.call(built)
    kept[Kept.MODE] &= all(part.training == mode for part, mode in modes)
    kept[Kept.WEIGHTS] &= all(torch.equal(now, before) for now, before in weights)
    return result


@dataclass(frozen=True)
class AskWithArguments(AskEach):
    """Run operations several times, each time with the further arguments in an entry of `given`.

    They are passed by name, to the function or the constructor; every run starts in the same random state.
    The result is a list for each time: what every operation gave, as `value`, or the type of the exception,
    as `raised`.
    """

    given: Sequence[Mapping[str, Any]] = ()

    def run(self, answer: Answer) -> Any:
        """Run with one entry after the other.

        Raises what the first operation raises the first time: such an answer fails anyway.
        """
        first = self._outcomes(answer, self.given[0])
        if "raised" in first[0]:
            self.operations[0].run(answer)  # raises it once more, for its message
        return [first, *(self._outcomes(answer, each) for each in self.given[1:])]

    def _outcomes(self, answer: Answer, given: Mapping[str, Any]) -> list[dict[str, Any]]:
        found = []
        for operation in self.operations:
            name = "kwargs" if hasattr(operation, "kwargs") else "init_kwargs"
            asked = replace(operation, **{name: {**getattr(operation, name), **given}})
            random.seed(SEED)
            torch.default_generator.manual_seed(SEED)
            try:
                found.append({"value": asked.run(answer)})
            except Exception as problem:
                found.append({"raised": type(problem).__name__})
        return found
