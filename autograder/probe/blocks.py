"""Scenarios for the blocks of a stack: their parts, their gradients, and facts about dropout."""

from typing import Any

import torch
from torch import nn

from autograder.probe.scenarios import (
    Inputs,
    Namespace,
    StructureError,
    add,
    attribute,
    build,
    kind_of,
)

MOVED = 1e-5


def block_part(namespace: Namespace, inputs: Inputs) -> Any:
    """Build the class, load its weights, and call one of its parts, the attribute path `part`."""
    part = attribute(build(namespace, inputs), inputs["part"])
    if not isinstance(part, nn.Module):
        raise StructureError(f"`{inputs['part']}` should be an nn.Module, not {kind_of(part)}.")
    return part(*inputs["calls"][0])


def block_start(namespace: Namespace, inputs: Inputs) -> Any:
    """Build the class and return the values with which the attributes at `paths` start."""
    built = build(namespace, inputs)
    return {path: attribute(built, path).detach() for path in inputs["paths"]}


def block_learns(namespace: Namespace, inputs: Inputs) -> Any:
    """Pull `cotangent` back through one call.

    Returns the gradients of the loaded parameters and of the input (as `x`, where it is of floats),
    and `not found`: the paths of loaded parameters that no optimiser would find.
    """
    built = build(namespace, inputs)
    x, *rest = inputs["calls"][0]
    leaf = x.clone().requires_grad_() if x.is_floating_point() else x
    output = built(leaf, *rest)
    if not isinstance(output, torch.Tensor):
        raise StructureError(f"`forward` should return a tensor, not {kind_of(output)}.")
    output.backward(inputs["cotangent"])  # type: ignore[no-untyped-call] # torch leaves it untyped
    found = {id(p) for p in built.parameters() if p.requires_grad}
    at = {path: attribute(built, path) for path in inputs["weights"]}
    lost = [path for path, parameter in at.items() if id(parameter) not in found]
    return {"not found": lost, "x": leaf.grad} | {path: p.grad for path, p in at.items()}


def block_survivors(namespace: Namespace, inputs: Inputs) -> Any:
    """Call once, where every output is either dropped (0) or scaled up: facts, the same at any draw.

    `scale` is the largest output, to three places, and `some dropped` whether any is 0.
    """
    output = build(namespace, inputs)(*inputs["calls"][0])
    if not isinstance(output, torch.Tensor):
        raise StructureError(f"`forward` should return a tensor, not {kind_of(output)}.")
    largest = round(float(output.detach().max()), 3)
    return {"scale": largest, "some dropped": bool((output == 0).any())}


def block_hears(namespace: Namespace, inputs: Inputs) -> Any:
    """Call twice in eval mode with fresh weights; say which positions (B, S) of the output differ.

    No weights are loaded: a block with a part misnamed is still judged by what it does. Each entry
    of `back` sends positions of the second output to where they belong in the first.
    """
    built = build(namespace, inputs)
    before, after = (built(*args) for args in inputs["calls"])
    if not (isinstance(before, torch.Tensor) and isinstance(after, torch.Tensor)):
        raise StructureError(f"`forward` should return a tensor, not {kind_of(before)}.")
    if before.dim() != 3 or after.dim() != 3:
        raise StructureError(f"`forward` should return (B, S, D), not {tuple(before.shape)}.")
    back = inputs["back"]
    return (before[:, : len(back)] - after[:, back]).abs().amax(dim=-1) > MOVED


add(
    {
        "block_part": block_part,
        "block_start": block_start,
        "block_learns": block_learns,
        "block_survivors": block_survivors,
        "block_hears": block_hears,
    }
)
