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
from autograder.probe.gradients import backpropagate, computed, is_float, leaves
from autograder.probe.operation import Operation

STILL = 1e-4  # two outputs closer than this are the same: rounding moves them by 2e-6 at most


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

    @property
    def arguments(self) -> Sequence[Any]:
        """The arguments of all calls."""
        return self.calls

    @property
    def names(self) -> frozenset[str]:
        """The parameters of the constructor that are given by name, and the paths of the weights."""
        return frozenset(self.init_kwargs) | frozenset(self.weights)

    def build(self, answer: Answer) -> nn.Module:
        """Construct the class, load every weight, set the mode; StructureError if that cannot be."""
        built = self._construct(answer)
        for path, value in self.weights.items():
            load(built, path, value)
        return (built.double() if self.double else built).train(self.train)

    def build_leniently(self, answer: Answer) -> nn.Module:
        """Construct the class, load the weights that fit, set eval mode: misnamed parts are skipped."""
        built = self._construct(answer)
        for path, value in self.weights.items():
            with contextlib.suppress(StructureError):
                load(built, path, value)
        return (built.double() if self.double else built).eval()

    def _construct(self, answer: Answer) -> nn.Module:
        built = answer.find()(*self.init, **self.init_kwargs)
        if not isinstance(built, nn.Module):
            raise StructureError(Fault.NOT_A_MODULE, answer.name, kind_of(built))
        return built


@dataclass(frozen=True)
class CallModule(ModuleOperation):
    """Build the class and call it once per entry of `calls`; the result is a list if there are several.

    `parts` names what each call goes to: a path such as `encode` or `layers.0`, '' for the module
    itself. `real` holds a mask (B, L) for each call, or None: outputs where it is False are blanked,
    because nobody relies on what padding comes to.
    """

    parts: Sequence[str] = ()
    real: Sequence[torch.Tensor | None] = ()

    @property
    def names(self) -> frozenset[str]:
        """The paths of weights, and of what is called."""
        return super().names | frozenset(self.parts)

    def run(self, answer: Answer) -> Any:
        """Build and call."""
        return self.call(self.build(answer))

    def call(self, built: nn.Module) -> Any:
        """Call a module that is built already, once per entry of `calls`."""
        results = [self._call(built, number) for number in range(len(self.calls))]
        return results[0] if len(results) == 1 else results

    def _call(self, built: nn.Module, number: int) -> Any:
        part = self.parts[number] if self.parts else ""
        result = (attribute(built, part) if part else built)(*self.calls[number])
        real = self.real[number] if self.real else None
        fits = isinstance(result, torch.Tensor) and real is not None and result.dim() == 3
        if fits and real is not None and result.shape[:2] == real.shape:
            return result.masked_fill(~real[..., None], 0.0)
        return result


@dataclass(frozen=True)
class ModuleGradients(ModuleOperation):
    """Call once and backpropagate `cotangent` from the (first) output.

    The result holds the gradient at each of `paths` (by default every loaded weight) and, with
    `of_arguments`, that of each float argument as `argument 0` and so on. With `registration`, the
    entry `unregistered` lists the paths that `parameters()` does not yield. With `one_output`, an
    output that is not a single tensor is a StructureError.
    """

    cotangent: torch.Tensor | None = None
    paths: Sequence[str] = ()
    of_arguments: bool = False
    registration: bool = False
    one_output: bool = False

    @property
    def names(self) -> frozenset[str]:
        """The paths of weights, and of what gradients are asked for."""
        return super().names | frozenset(self.paths)

    def run(self, answer: Answer) -> Any:
        """Build, call, backpropagate."""
        built = self.build(answer)
        args = leaves(self.calls[0]) if self.of_arguments else list(self.calls[0])
        output = (returned_tensor if self.one_output else first_tensor)(built(*computed(args)))
        if output.requires_grad:  # if it is cut off, no gradient reaches anything: each stays None
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
    """

    paths: Sequence[str] = ()
    facts: Sequence[str] = ("value",)
    total: bool = False
    defaults: Sequence[str] = ()

    @property
    def names(self) -> frozenset[str]:
        """The paths that are read, the facts, and the parameters whose defaults are wanted."""
        return super().names | {*self.paths, *self.facts, *self.defaults, "total"}

    def run(self, answer: Answer) -> Any:
        """Build and read."""
        built = self.build(answer)
        found: dict[str, Any] = {path: self._facts(built, path) for path in self.paths}
        if self.total:
            found["total"] = _count_trainable(built)
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
class ChangedPositions(ModuleOperation):
    """Call twice in eval mode and say at which positions the outputs differ, as booleans (B, T).

    Weights that do not fit are skipped, so that a module with a misnamed part is still judged by
    what it does. `order` sends position t of the second output back to where it belongs in the
    first. Samples that only one of the calls has are left out.
    """

    order: Sequence[int] = ()

    def run(self, answer: Answer) -> Any:
        """Build, call twice, compare."""
        built = self.build_leniently(answer)
        before, after = (returned_tensor(built(*args)) for args in self.calls)
        if before.dim() != 3 or after.dim() != 3:
            raise StructureError(Fault.NOT_THREE_DIMENSIONS, detail=str(before.dim()))
        if self.order:
            before, after = before[:, : len(self.order)], after[:, self.order]
        batch = min(len(before), len(after))
        if before.shape[1:] != after.shape[1:]:
            raise StructureError(Fault.SHAPE_VARIES, detail=str(tuple(after.shape)))
        moved = ~torch.isclose(after[:batch], before[:batch], atol=STILL, rtol=STILL)
        return moved.any(dim=-1)


def _unregistered(built: nn.Module, paths: Sequence[str]) -> list[str]:
    known = {id(parameter) for parameter in built.parameters() if parameter.requires_grad}
    return [path for path in paths if id(attribute(built, path)) not in known]


def _count_trainable(built: nn.Module) -> int:
    distinct = {id(p): p for p in built.parameters() if p.requires_grad}
    return sum(p.numel() for p in distinct.values())


def _kind(built: nn.Module, path: str) -> str:
    if path in dict(built.named_buffers(remove_duplicate=False)):
        return "buffer"
    return "parameter" if path in dict(built.named_parameters()) else "attribute"
