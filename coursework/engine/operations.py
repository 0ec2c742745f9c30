"""Operations on functions, dictionaries and modules, and those that ask what should hold of every answer."""

import contextlib
import copy
import inspect
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, ClassVar

import torch
from torch import nn
from torch.utils._pytree import tree_map_only

from coursework.engine.operation import (
    Answer,
    Fault,
    Operation,
    StructureError,
    attribute,
    first_tensor,
    kind_of,
    load,
    make,
    returned_tensor,
    with_tensors,
)

FLOAT64, GRADIENTS = "float64", "gradients"  # what a notebook is told that grading asks
SEED = 20  # of the random state before each of two calls that should give the same


@dataclass(frozen=True)
class CallFunction(Operation):
    """Call the function; the result is what it returns."""

    args: Sequence[Any]
    kwargs: Mapping[str, Any] = field(default_factory=dict)

    arguments_in: ClassVar[Sequence[str]] = ("args", "kwargs")
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
        args = _leaves(self.args)
        result = answer.find()(*_computed(args), **self.kwargs)
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
        is_array = type(entry).__module__ == "numpy"  # which a lesson need not have imported
        return entry.tolist() if isinstance(entry, torch.Tensor) or is_array else entry


def _leaves(args: Sequence[Any]) -> list[Any]:
    """Return arguments with every float tensor as a leaf, whose `grad` backpropagation fills in."""
    return [arg.clone().requires_grad_() if _is_float(arg) else arg for arg in args]


def _computed(args: Sequence[Any]) -> list[Any]:
    """Return the arguments as results of a computation, as they are inside a model.

    PyTorch refuses to modify a leaf, and what an answer changes in place has a check of its own.
    """
    return [arg.clone() if _is_float(arg) else arg for arg in args]


def _is_float(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.is_floating_point()


def backpropagate(output: Any, cotangent: torch.Tensor | None) -> None:
    """Backpropagate `cotangent` from an output, or, without one, from a single number.

    From an output that is cut off, or not a tensor, no gradient reaches anything. The output is weighted and
    summed, which gives the same gradients: to take a cotangent as it is, torch imports 34 MB that every fork
    would copy. Raises StructureError for an output of another shape: torch's error would pass for the
    answer's.
    """
    if not isinstance(output, torch.Tensor) or not output.requires_grad:
        return
    fits = output.numel() == 1 if cotangent is None else output.shape == cotangent.shape
    if not fits:
        raise StructureError(Fault.OUTPUT_SHAPE, detail=str(tuple(output.shape)))
    number = output if cotangent is None else (output * cotangent).sum()
    torch.autograd.backward(number)


@dataclass(frozen=True)
class ModuleOperation(Operation):
    """Base of the operations that build the class: how it is built, and how it is called.

    `init` and `init_kwargs` go to the constructor. `weights` are loaded by attribute path. `calls`
    holds the arguments of each call. `double` asks for float64, `train` for train mode.
    """

    init: Sequence[Any] = ()
    weights: Mapping[str, torch.Tensor] = field(default_factory=dict)
    calls: Sequence[Sequence[Any]] = ()
    init_kwargs: Mapping[str, Any] = field(default_factory=dict)
    train: bool = False
    double: bool = False

    arguments_in: ClassVar[Sequence[str]] = ("calls",)
    named: ClassVar[Sequence[str]] = ("init_kwargs", "weights")
    lenient: ClassVar[bool] = False  # whether weights that do not fit are skipped

    def build(self, answer: Answer) -> nn.Module:
        """Construct the class, load every weight, set the mode; StructureError if that cannot be."""
        built = answer.find()(*self.init, **self.init_kwargs)
        if not isinstance(built, nn.Module):
            raise StructureError(Fault.NOT_A_MODULE, answer.name, kind_of(built))
        for path, value in self.weights.items():
            with contextlib.suppress(*[StructureError] if self.lenient else []):
                load(built, path, value)
        return (built.double() if self.double else built).train(self.train)


@dataclass(frozen=True)
class CallModule(ModuleOperation):
    """Build the class and call it once per entry of `calls`; the result is a list if there are several.

    `parts` names what each call goes to: a path such as `encode` or `layers.0`, '' for the module
    itself.
    """

    parts: Sequence[str] = ()

    named: ClassVar[Sequence[str]] = (*ModuleOperation.named, "parts")

    def run(self, answer: Answer) -> Any:
        """Build and call."""
        return self.call(self.build(answer))

    def call(self, built: nn.Module) -> Any:
        """Call a module that is built already, once per entry of `calls`."""
        asked = zip(self.parts or [""] * len(self.calls), self.calls, strict=True)
        results = [(attribute(built, part) if part else built)(*args) for part, args in asked]
        return results[0] if len(results) == 1 else results


@dataclass(frozen=True)
class ModuleGradients(ModuleOperation):
    """Call once and backpropagate `cotangent` from the (first) output.

    The result holds the gradient at each of `paths` (by default every loaded weight) and, with
    `of_arguments`, that of each float argument as `argument 0` and so on. With `registration`, the
    entry `unregistered` lists the paths that `parameters()` does not yield. With `one_output`, an
    output that is not a single tensor is a StructureError.

    Which parameters are registered is about the module itself, so `unregistered` stays a claim.
    """

    cotangent: torch.Tensor | None = None
    paths: Sequence[str] = ()
    of_arguments: bool = False
    registration: bool = False
    one_output: bool = False

    named: ClassVar[Sequence[str]] = (*ModuleOperation.named, "paths")

    def run(self, answer: Answer) -> Any:
        """Build, call, backpropagate."""
        built = self.build(answer)
        args = _leaves(self.calls[0]) if self.of_arguments else list(self.calls[0])
        output = (returned_tensor if self.one_output else first_tensor)(built(*_computed(args)))
        backpropagate(output, self.cotangent)
        paths = self.paths or list(self.weights)
        found: dict[str, Any] = {path: attribute(built, path).grad for path in paths}
        if self.of_arguments:
            found |= {f"argument {number}": arg.grad for number, arg in enumerate(args) if _is_float(arg)}
        return found | ({"unregistered": unregistered(built, paths)} if self.registration else {})


@dataclass(frozen=True)
class ReadState(ModuleOperation):
    """Build the class and read what it holds: for each of `paths`, a dictionary of facts.

    `value` is the tensor, `shape` its shape, `kind` 'parameter', 'buffer' or 'attribute', and
    `registered` whether an optimiser would be given it. `facts` says which of them are wanted. With
    `total`, the entry `total` counts the trainable numbers; `defaults` adds the default values of
    these arguments of the constructor.

    `kind`, `registered` and `total` are about the module itself, not about numbers: they stay claims.
    """

    paths: Sequence[str] = ()
    facts: Sequence[str] = ("value",)
    total: bool = False
    defaults: Sequence[str] = ()

    named: ClassVar[Sequence[str]] = (*ModuleOperation.named, "paths", "facts", "defaults")

    @property
    def names(self) -> frozenset[str]:
        """The paths that are read, the facts, and the parameters whose defaults are wanted."""
        return super().names | {"total"}

    def run(self, answer: Answer) -> Any:
        """Build and read."""
        built = self.build(answer)
        found: dict[str, Any] = {path: self._facts(built, path) for path in self.paths}
        if self.total:
            found["total"] = sum(p.numel() for p in built.parameters() if p.requires_grad)
        known = inspect.signature(answer.find()).parameters if self.defaults else {}
        return found | {name: known[name].default for name in self.defaults if name in known}

    def _facts(self, built: nn.Module, path: str) -> Any:
        here = attribute(built, path)
        known: dict[str, Callable[[], Any]] = {
            "value": lambda: here.detach() if isinstance(here, torch.Tensor) else here,
            "shape": lambda: tuple(here.shape),
            "kind": lambda: _kind(built, path),
            "registered": lambda: not unregistered(built, [path]),
        }
        found = {fact: known[fact]() for fact in self.facts}
        return found[self.facts[0]] if len(self.facts) == 1 else found


@dataclass(frozen=True)
class TwoOutputs(ModuleOperation):
    """Call twice, the second time with the last of `calls`, and return both outputs.

    Weights that do not fit are skipped, so that a module with a misnamed part is still judged by
    what it does. `modes` says for each call whether train mode is set before it; without, the module is in
    eval mode. The parameters at `silence` are set to 0 before the second call.
    """

    modes: Sequence[bool] = ()
    silence: Sequence[str] = ()

    named: ClassVar[Sequence[str]] = (*ModuleOperation.named, "silence")
    lenient: ClassVar[bool] = True

    def run(self, answer: Answer) -> Any:
        """Build and call twice."""
        built = self.build(answer)
        first = self._output(built, 0)
        for path in self.silence:
            load(built, path, torch.zeros_like(attribute(built, path)))
        return [first, self._output(built, -1)]

    def _output(self, built: nn.Module, number: int) -> torch.Tensor:
        if self.modes:
            built.train(self.modes[number])
        return returned_tensor(built(*self.calls[number]))


@dataclass(frozen=True)
class Reached(Operation):
    """Call once; the result lists the float arguments and loaded weights that no gradient reaches.

    `asked` is a CallFunction or a ModuleOperation.
    """

    asked: Any

    def run(self, answer: Answer) -> list[str]:
        """Call, and backpropagate from the sum of the (first) output."""
        if isinstance(self.asked, ModuleOperation):
            called, given, named = self.asked.build(answer), self.asked.calls[0], {}
            found = {path: attribute(called, path) for path in self.asked.weights}
        else:
            called, given, named, found = answer.find(), self.asked.args, self.asked.kwargs, {}
        args = _leaves(given)
        backpropagate(first_tensor(called(*_computed(args), **named)).sum(), None)
        found |= {f"argument {number}": arg for number, arg in enumerate(args) if _is_float(arg)}
        return [path for path, tensor in found.items() if tensor.grad is None]


def in_float64(operation: Operation) -> Operation:
    """Return an operation in float64, as far as it has floats: of a module, its arguments and itself."""
    if isinstance(operation, ModuleOperation):
        return replace(operation, calls=doubled(list(operation.calls)), double=True)
    return with_tensors(operation, doubled)


def doubled(value: Any) -> Any:
    """Return a value with its floats in float64."""
    return tree_map_only(torch.Tensor, lambda x: x.double() if x.is_floating_point() else x, value)


def unregistered(built: nn.Module, paths: Iterable[str]) -> list[str]:
    """Return those of some paths whose tensors an optimiser would not be given."""
    known = {id(parameter) for parameter in built.parameters() if parameter.requires_grad}
    return [path for path in paths if id(attribute(built, path)) not in known]


def _kind(built: nn.Module, path: str) -> str:
    if path in dict(built.named_buffers(remove_duplicate=False)):
        return "buffer"
    return "parameter" if path in dict(built.named_parameters()) else "attribute"


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
        return [asked.read(result) for asked, result in zip(self.operations, value, strict=True)]


@dataclass(frozen=True)
class AskStrided(AskEach):
    """Run operations with tensors that hold the same numbers, but with gaps between them in memory."""

    @property
    def operations(self) -> list[Operation]:
        """The operations, with every tensor among the arguments of a call laid out anew."""
        found = []
        for operation in super().operations:
            parts = {name: getattr(operation, name) for name in operation.arguments_in}
            found.append(replace(operation, **tree_map_only(torch.Tensor, _not_contiguous, parts)))
        return found


def _not_contiguous(x: torch.Tensor) -> torch.Tensor:
    """Return the same numbers as a slice of a larger tensor, or else as every second of a row."""
    large = x.new_zeros([size + 1 for size in x.shape])
    found = large[tuple(slice(size) for size in x.shape)].copy_(x)
    return torch.stack([x, x], dim=-1)[..., 0] if found.is_contiguous() else found


class Setting(StrEnum):
    """What a call should leave as it was, in the process and in the module that it calls."""

    GRADIENTS = "gradients"
    DTYPE = "default dtype"
    DEVICE = "default device"
    SEED = "random seed"
    MODE = "mode"
    WEIGHTS = "weights"


@dataclass(frozen=True)
class AskForSettings(AskEach):
    """Run operations; the result is their `results`, and for each of `Setting` whether it is as before.

    To draw random numbers is no fault, as initialisation and dropout do, but to set their seed is. What
    was kept is about the process itself, so it stays a claim.
    """

    def run(self, answer: Answer) -> Any:
        """Run, and compare what was before with what is after."""
        kept = dict.fromkeys(map(str, Setting), True)
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
        Setting.GRADIENTS.value: torch.is_grad_enabled(),
        Setting.DTYPE.value: torch.get_default_dtype(),
        Setting.DEVICE.value: torch.get_default_device(),
        Setting.SEED.value: torch.initial_seed(),
    }


def _call_and_look(operation: CallModule, answer: Answer, kept: dict[str, bool]) -> Any:
    """Build and call, and note in `kept` what the call changed in the module itself."""
    built = operation.build(answer)
    modes = [(part, part.training) for part in built.modules()]
    weights = [(weight, weight.detach().clone()) for weight in built.parameters()]
    result = operation.call(built)
    kept[Setting.MODE] &= all(part.training == mode for part, mode in modes)
    kept[Setting.WEIGHTS] &= all(torch.equal(now, before) for now, before in weights)
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
            # each call has arguments of its own: what it gives may be one that it changed
            asked = copy.deepcopy(replace(operation, **{name: {**getattr(operation, name), **given}}))
            random.seed(SEED)
            torch.default_generator.manual_seed(SEED)
            try:
                found.append({"value": asked.run(answer)})
            except Exception as problem:
                found.append({"raised": type(problem).__name__})
        return found
