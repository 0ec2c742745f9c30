"""What a probe can be asked about layers and stacks besides their numbers: facts, true at any draw.

A fact is a bool, or a few of them. They need no weights that fit, so that a layer with a part
misnamed is still judged by how it behaves.
"""

import contextlib
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import nn

from autograder.probe import scenarios  # which imports this module: used by attribute only

Namespace = Mapping[str, Any]
Inputs = Mapping[str, Any]
STILL = 1e-5


def moves(namespace: Namespace, inputs: Inputs) -> Any:
    """Call a module twice, in eval mode; say at which positions (B, T) the outputs differ."""
    built = _built(namespace, inputs)
    before, after = (_tensor(built(*args)) for args in inputs["calls"])
    if before.shape != after.shape or before.dim() < 2:
        raise scenarios.StructureError(
            f"`forward` should return (B, T, width) for both inputs, not {tuple(after.shape)}."
        )
    return (~torch.isclose(after, before, atol=STILL, rtol=STILL)).any(dim=-1)


def dropout_fact(namespace: Namespace, inputs: Inputs) -> Any:
    """Say whether a fact about dropout holds; `fact` is the name of one of those below."""
    return _FACTS[inputs["fact"]](namespace, inputs)


def _repeats(namespace: Namespace, inputs: Inputs) -> bool:
    """In eval mode two calls give the same."""
    return _same(*_twice(_built(namespace, inputs), inputs))


def _drops_nothing(namespace: Namespace, inputs: Inputs) -> bool:
    """In train mode, built with dropout 0, it gives what it gives in eval mode."""
    built = _built(namespace, inputs)
    expected = _call(built.eval(), inputs)
    return _same(_call(built.train(), inputs), expected)


def _drops_parts(namespace: Namespace, inputs: Inputs) -> dict[str, bool]:
    """In train mode, built with a dropout of nearly 1, only what is not dropped is left.

    That is what the same module gives in eval mode when the parameters at `silence` are zero. If
    something else is left: are all positions alike, and are they zero?
    """
    built = _built(namespace, inputs)
    left = _call(built.train(), inputs)
    _silence(built, inputs)
    return {
        "left": _same(left, _call(built.eval(), inputs)),
        "alike": _same(left, left[:1, :1].expand_as(left)),
        "zero": _same(left, torch.zeros_like(left)),
    }


def _drops_inside(namespace: Namespace, inputs: Inputs) -> bool:
    """In train mode, built with dropout 0.9, most positions get nothing of a feed-forward of one unit.

    Where the single hidden unit is dropped, every feature of the position is as without the part.
    """
    built = _built(namespace, inputs)
    got = _call(built.train(), inputs)
    _silence(built, inputs)
    without = _call(built.eval(), inputs)
    if got.shape != without.shape:
        return False
    touched = (~torch.isclose(got, without, atol=1e-4)).any(dim=-1)
    return bool(touched.double().mean() < 0.5)


_FACTS: Mapping[str, Callable[[Namespace, Inputs], Any]] = {
    "repeats": _repeats,
    "drops nothing": _drops_nothing,
    "drops parts": _drops_parts,
    "drops inside": _drops_inside,
}


def all_gradients(namespace: Namespace, inputs: Inputs) -> Any:
    """Return the gradients of the loaded parameters and of the float arguments, by path and number."""
    built = scenarios.build(namespace, inputs)
    floats = [
        isinstance(arg, torch.Tensor) and arg.is_floating_point() for arg in inputs["calls"][0]
    ]
    args = [
        arg.clone().requires_grad_() if leaf else arg
        for arg, leaf in zip(inputs["calls"][0], floats, strict=True)
    ]
    torch.autograd.backward(_tensor(built(*args)), inputs["cotangent"])
    found = {path: scenarios.attribute(built, path).grad for path in inputs["weights"]}
    return found | {f"argument {i}": args[i].grad for i, leaf in enumerate(floats) if leaf}


def unregistered(namespace: Namespace, inputs: Inputs) -> Any:
    """Return the paths among `weights` whose parameters `module.parameters()` does not know."""
    built = scenarios.build(namespace, inputs)
    known = {id(parameter) for parameter in built.parameters()}
    return [path for path in inputs["weights"] if id(scenarios.attribute(built, path)) not in known]


def _built(namespace: Namespace, inputs: Inputs) -> nn.Module:
    """Build the class in eval mode, and load those weights that find their place."""
    built = scenarios.build(namespace, {**inputs, "weights": {}, "train": False})
    for path, value in inputs["weights"].items():
        with contextlib.suppress(scenarios.StructureError):
            scenarios.load(built, path, value)
    return built


def _call(built: nn.Module, inputs: Inputs) -> torch.Tensor:
    return _tensor(built(*inputs["calls"][0])).detach()


def _twice(built: nn.Module, inputs: Inputs) -> tuple[torch.Tensor, torch.Tensor]:
    return _call(built, inputs), _call(built, inputs)


def _silence(built: nn.Module, inputs: Inputs) -> None:
    for path in inputs["silence"]:
        scenarios.load(built, path, torch.zeros_like(scenarios.attribute(built, path)))


def _same(one: torch.Tensor, other: torch.Tensor) -> bool:
    return one.shape == other.shape and torch.allclose(one, other, atol=1e-3)


def _tensor(value: Any) -> torch.Tensor:
    if not isinstance(value, torch.Tensor):
        raise scenarios.StructureError(
            f"`forward` should return a tensor, not {type(value).__name__}."
        )
    return value
