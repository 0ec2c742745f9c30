"""Operations on an answer that is an nn.Module: calls, gradients, state, and what depends on what."""

import contextlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import torch
from torch import nn

from autograder.probe.answer import (
    Answer,
    Fault,
    StructureError,
    attribute,
    first_tensor,
    kind_of,
    load,
    returned_tensor,
)
from autograder.probe.functions import backpropagate, computed, is_float, leaves
from autograder.probe.operation import Operation


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

    handed: ClassVar[Sequence[str]] = ("calls",)
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
        args = leaves(self.calls[0]) if self.of_arguments else list(self.calls[0])
        output = (returned_tensor if self.one_output else first_tensor)(built(*computed(args)))
        backpropagate(output, self.cotangent)
        paths = self.paths or list(self.weights)
        found: dict[str, Any] = {path: attribute(built, path).grad for path in paths}
        if self.of_arguments:
            floats = [(number, arg) for number, arg in enumerate(args) if is_float(arg)]
            found |= {f"argument {number}": arg.grad for number, arg in floats}
        return found | ({"unregistered": _unregistered(built, paths)} if self.registration else {})


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
            "registered": lambda: not _unregistered(built, [path]),
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


def _unregistered(built: nn.Module, paths: Sequence[str]) -> list[str]:
    known = {id(parameter) for parameter in built.parameters() if parameter.requires_grad}
    return [path for path in paths if id(attribute(built, path)) not in known]


def _kind(built: nn.Module, path: str) -> str:
    if path in dict(built.named_buffers(remove_duplicate=False)):
        return "buffer"
    return "parameter" if path in dict(built.named_parameters()) else "attribute"
