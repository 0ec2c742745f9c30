"""What the cases of lesson 05 have in common: weights, masks, and the form of their questions."""

from collections.abc import Sequence
from typing import Any

import torch

from autograder.judge.draw import Draw
from autograder.judge.exercise import Stimulus, module

Weights = dict[str, torch.Tensor]
NEARLY_ALL = 0.9999999  # dropout that leaves nothing, where 1 might be divided by nothing


def norm_weights(draw: Draw, name: str, width: int) -> Weights:
    """Return weight and bias of a layer norm, far enough from 1 and 0 to be noticed."""
    prefix = f"{name}." if name else ""
    weight = draw.normal(width, scale=0.3) + 1.2
    return {f"{prefix}weight": weight, f"{prefix}bias": draw.normal(width, scale=0.5)}


def layer_weights(draw: Draw, width: int, hidden: int, prefix: str = "") -> Weights:
    """Return all weights of an encoder layer."""
    weights: Weights = {}
    for name in ("w_q", "w_k", "w_v", "w_o"):
        weights |= draw.linear(f"{prefix}self_attention.{name}", width, width)
    weights |= draw.linear(f"{prefix}feed_forward.linear1", width, hidden)
    weights |= draw.linear(f"{prefix}feed_forward.linear2", hidden, width)
    return (
        weights
        | norm_weights(draw, f"{prefix}norm1", width)
        | norm_weights(draw, f"{prefix}norm2", width)
    )


def encoder_weights(draw: Draw, vocabulary: int, width: int, hidden: int, layers: int) -> Weights:
    """Return all weights of an encoder; the row of <pad> is zero, the layers all differ."""
    table = draw.normal(vocabulary, width, scale=width**-0.5)
    table[0] = 0.0
    weights = {"embedding.embed.weight": table}
    for number in range(layers):
        weights |= layer_weights(draw, width, hidden, f"layers.{number}.")
    return weights


def real(*lengths: int, longest: int = 0) -> torch.Tensor:
    """Return a padding mask (B, 1, longest) for sentences of these lengths."""
    size = longest or max(lengths)
    return (torch.arange(size) < torch.tensor(lengths)[:, None]).unsqueeze(1)


def sentences(draw: Draw, vocabulary: int, *lengths: int, longest: int = 0) -> torch.Tensor:
    """Return ids (B, longest) of random words, with <pad> after each sentence's end."""
    size = longest or max(lengths)
    ids = draw.integers(4, vocabulary, len(lengths), size)
    return ids.masked_fill(~real(*lengths, longest=size)[:, 0], 0)


def learning(asked: Stimulus, cotangent: torch.Tensor) -> Stimulus:
    """Ask for gradients, and whether an optimiser would find the parameters."""
    return Stimulus("block_learns", {**asked.inputs, "cotangent": cotangent})


def hearing(
    init: Sequence[Any], before: Sequence[Any], after: Sequence[Any], back: Sequence[int]
) -> Stimulus:
    """Ask at which positions the output of fresh weights moves between two calls."""
    asked = module(init, {}, before, after)
    return Stimulus("block_hears", {**asked.inputs, "back": list(back)})


def double(asked: Stimulus) -> Stimulus:
    """Ask the same in float64."""
    return Stimulus("module_double", asked.inputs)
