"""Arguments that gradients are asked of."""

from collections.abc import Sequence
from typing import Any

import torch


def leaves(args: Sequence[Any]) -> list[Any]:
    """Return arguments with every float tensor as a leaf, whose `grad` backpropagation fills in."""
    return [arg.clone().requires_grad_() if is_float(arg) else arg for arg in args]


def computed(args: Sequence[Any]) -> list[Any]:
    """Return the arguments as results of a computation, as they are inside a model.

    PyTorch refuses to modify a leaf. What an answer changes in place is looked at by a check of its
    own, and should not cost the gradients too.
    """
    return [arg.clone() if is_float(arg) else arg for arg in args]


def backpropagate(output: torch.Tensor, cotangent: torch.Tensor | None) -> None:
    """Backpropagate `cotangent` from an output, or, without one, from a single number.

    The output is weighted and summed, which gives the same gradients: to take a cotangent as it is, torch
    imports 34 MB that every fork would copy.
    """
    if cotangent is not None and output.shape == cotangent.shape:
        torch.autograd.backward((output * cotangent).sum())
    else:
        torch.autograd.backward(output, cotangent)


def is_float(value: Any) -> bool:
    """Return whether a value is a tensor that can have gradients."""
    return isinstance(value, torch.Tensor) and value.is_floating_point()
