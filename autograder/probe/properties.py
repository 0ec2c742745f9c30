"""Operations that ask what should hold of every answer. Each is made of operations on that answer.

The judge's side of them is `judge.properties`.
"""

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, ClassVar

import torch
from torch import nn
from torch.utils._pytree import tree_leaves, tree_map_only

from autograder.probe.answer import Answer
from autograder.probe.modules import CallModule, ModuleOperation
from autograder.probe.operation import Operation, make

SEED = 20  # of the random state before each of two calls that should give the same
CLOSE = 1e-4  # two results closer than this are the same


@dataclass(frozen=True)
class AskEach(Operation):
    """Run several operations, each given by its `path` and its `fields`; the result is a list.

    `double` asks modules in float64.
    """

    asked: Sequence[Mapping[str, Any]] = ()
    double: bool = False

    repeated: ClassVar[bool] = False  # there are checks that ask for one operation of the kind

    @property
    def operations(self) -> list[Operation]:
        """The operations."""
        made = (make(each["path"], each["fields"]) for each in self.asked)
        return [self._in_its_dtype(operation) for operation in made]

    def _in_its_dtype(self, operation: Operation) -> Operation:
        if isinstance(operation, ModuleOperation) and self.double:
            return replace(operation, double=True)
        return operation

    @property
    def names(self) -> frozenset[str]:
        """What the messages about one of the operations may name."""
        return frozenset().union(*(operation.names for operation in self.operations))

    @property
    def faults(self) -> Mapping[str, str]:
        """The faults that one of the operations finds."""
        return {name: said for each in self.operations for name, said in each.faults.items()}

    def run(self, answer: Answer) -> Any:
        """Run one after the other."""
        return [operation.run(answer) for operation in self.operations]


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
    """What a call should leave as it was. The judge has the sentences."""

    GRADIENTS = "gradients"
    DTYPE = "default dtype"
    DEVICE = "default device"
    SEED = "random seed"
    MODE = "mode"
    WEIGHTS = "weights"


@dataclass(frozen=True)
class AskForSettings(AskEach):
    """Run operations and say what they left as it was.

    The entries of the result are `results`, and one of `Kept` each: whether gradients are on or off
    as before, whether the defaults of PyTorch are the same, and whether its random numbers still
    depend on the seed that was set before. To draw some is no fault: initialisation and dropout do.
    Of a module that is built, also whether each part has its mode and each parameter its values.
    """

    @property
    def names(self) -> frozenset[str]:
        """What was kept, besides the names of the operations."""
        return super().names | frozenset(Kept)

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
    modes, weights = list(_modes(built)), _weights(built)
    result = operation.call(built)
    kept[Kept.MODE] &= all(part.training == mode for part, mode in modes)
    kept[Kept.WEIGHTS] &= all(torch.equal(now, before) for now, before in weights)
    return result


def _modes(built: nn.Module) -> Iterator[tuple[nn.Module, bool]]:
    return ((part, part.training) for part in built.modules())


def _weights(built: nn.Module) -> list[tuple[torch.Tensor, torch.Tensor]]:
    return [(parameter, parameter.detach().clone()) for parameter in built.parameters()]


@dataclass(frozen=True)
class AskForDefaults(AskEach):
    """Leave arguments out, and say of each whether its default is the one that is expected.

    `defaults` holds for each argument its default and another value. Both are passed by name, to the
    function or the constructor; every call is made in the same random state. The result says
    "default", "another default", or "unused" if the other value changes nothing. Nothing is held
    against an answer that gives two results for the same call.
    """

    defaults: Mapping[str, Sequence[Any]] = field(default_factory=dict)

    @property
    def names(self) -> frozenset[str]:
        """The arguments, besides the names of the operations."""
        return super().names | frozenset(self.defaults)

    def run(self, answer: Answer) -> Any:
        """Call without each argument, with its default, and with the other value.

        Raises what the first operation raises: an answer that fails anyway has no defaults.
        """
        left_out = self._outcomes(answer, {})
        if isinstance(left_out[0], type):
            self.operations[0].run(answer)  # raises it once more, for its message
        if not _alike(left_out, self._outcomes(answer, {})):
            return dict.fromkeys(self.defaults, "default")
        return {
            name: self._found(answer, left_out, name, *values)
            for name, values in self.defaults.items()
        }

    def _found(
        self, answer: Answer, left_out: list[Any], name: str, default: Any, other: Any
    ) -> str:
        if not _alike(left_out, self._outcomes(answer, {name: default})):
            return "another default"
        return "unused" if _alike(left_out, self._outcomes(answer, {name: other})) else "default"

    def _outcomes(self, answer: Answer, given: Mapping[str, Any]) -> list[Any]:
        """Return what comes of each operation, the type of the exception where one does."""
        found = []
        for operation in self.operations:
            random.seed(SEED)
            torch.default_generator.manual_seed(SEED)
            try:
                found.append(_with(operation, given).run(answer))
            except Exception as problem:
                found.append(type(problem))
        return found


def _with(operation: Operation, given: Mapping[str, Any]) -> Operation:
    """Return an operation that passes further arguments by name."""
    name = "kwargs" if hasattr(operation, "kwargs") else "init_kwargs"
    return replace(operation, **{name: {**getattr(operation, name), **given}})


def _alike(one: Any, other: Any) -> bool:
    pairs = [tree_leaves(one), tree_leaves(other)]
    return len(pairs[0]) == len(pairs[1]) and all(map(_equal, *pairs))


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
        fits = one.shape == other.shape and one.dtype == other.dtype
        return fits and torch.allclose(one, other, CLOSE, CLOSE, equal_nan=True)
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=CLOSE)
    return type(one) is type(other) and bool(one == other)
