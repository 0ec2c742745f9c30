"""Copies a Transformer of this course into PyTorch's own, so that both can be compared."""

from typing import Any

import torch
from torch import nn


def into_torch(mine: Any, num_heads: int) -> nn.Transformer:
    """Return an nn.Transformer with the weights of `mine`, batch first and in eval mode.

    It has no embeddings and no projection, and it keeps its two final norms, as they come.
    """
    first = mine.encoder.layers[0].feed_forward.linear1
    theirs = nn.Transformer(
        first.in_features,
        num_heads,
        len(mine.encoder.layers),
        len(mine.decoder.layers),
        first.out_features,
        batch_first=True,
    )
    with torch.no_grad():
        for own, other in zip(mine.encoder.layers, theirs.encoder.layers, strict=True):
            _layer(own, other, 2)
        for own, other in zip(mine.decoder.layers, theirs.decoder.layers, strict=True):
            _layer(own, other, 3)
            _attention(own.cross_attention, other.multihead_attn)
    return theirs.eval()


def _layer(own: Any, other: Any, norms: int) -> None:
    _attention(own.self_attention, other.self_attn)
    other.linear1.load_state_dict(_linear(own.feed_forward.linear1))
    other.linear2.load_state_dict(_linear(own.feed_forward.linear2))
    for number in range(1, norms + 1):
        norm = getattr(own, f"norm{number}")
        getattr(other, f"norm{number}").load_state_dict({"weight": norm.weight, "bias": norm.bias})


def _attention(own: Any, other: nn.MultiheadAttention) -> None:
    layers = (own.w_q, own.w_k, own.w_v)
    other.in_proj_weight.copy_(torch.cat([layer.weight for layer in layers]))
    other.in_proj_bias.copy_(torch.cat([layer.bias for layer in layers]))
    other.out_proj.load_state_dict(_linear(own.w_o))


def _linear(layer: nn.Linear) -> dict[str, torch.Tensor]:
    return {"weight": layer.weight, "bias": layer.bias}
