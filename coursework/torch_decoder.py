"""PyTorch's own decoder layer with a student's weights, to compare the two."""

from typing import Any

import torch
from torch import nn


def torch_decoder_layer(mine: Any, *, d_model: int, num_heads: int, d_ff: int) -> nn.TransformerDecoderLayer:
    """Return an nn.TransformerDecoderLayer in eval mode that holds copies of `mine`'s weights.

    It is batch first, and its masks follow PyTorch's convention: True where attention is forbidden.
    Raises AttributeError where `mine` lacks a part.
    """
    theirs = nn.TransformerDecoderLayer(d_model, num_heads, d_ff, batch_first=True).eval()
    parts = {
        "norm1": mine.norm1,
        "norm2": mine.norm2,
        "norm3": mine.norm3,
        "linear1": mine.feed_forward.linear1,
        "linear2": mine.feed_forward.linear2,
        "self_attn.out_proj": mine.self_attention.w_o,
        "multihead_attn.out_proj": mine.cross_attention.w_o,
    }
    with torch.no_grad():
        for name, part in parts.items():
            _copy(theirs.get_submodule(name), part)
        _stack(theirs.self_attn, mine.self_attention)
        _stack(theirs.multihead_attn, mine.cross_attention)
    return theirs


def _copy(theirs: Any, mine: Any) -> None:
    """Copy weight and bias."""
    theirs.weight.copy_(mine.weight)
    theirs.bias.copy_(mine.bias)


def _stack(theirs: nn.MultiheadAttention, mine: Any) -> None:
    """Copy the three projections into the one matrix in which PyTorch keeps them."""
    layers = (mine.w_q, mine.w_k, mine.w_v)
    theirs.in_proj_weight.copy_(torch.cat([layer.weight for layer in layers]))  # (3·D, D)
    theirs.in_proj_bias.copy_(torch.cat([layer.bias for layer in layers]))  # (3·D,)
