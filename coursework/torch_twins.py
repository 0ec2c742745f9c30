"""PyTorch's own decoder layer and Transformer with a student's weights, to compare the two."""

from typing import Any

import torch
from torch import nn


def torch_decoder_layer(mine: Any, *, d_model: int, num_heads: int, d_ff: int) -> nn.TransformerDecoderLayer:
    """Return an nn.TransformerDecoderLayer in eval mode that holds copies of `mine`'s weights.

    It is batch first, and its masks follow PyTorch's convention: True where attention is forbidden.
    Raises AttributeError where `mine` lacks a part.
    """
    theirs = nn.TransformerDecoderLayer(d_model, num_heads, d_ff, batch_first=True).eval()
    copy_layer(mine, theirs)
    copy_attention(mine.cross_attention, theirs.multihead_attn)
    return theirs


@torch.no_grad()
def copy_layer(mine: Any, theirs: Any) -> None:
    """Copy self-attention, feed-forward network and norms of an encoder or decoder layer to PyTorch's."""
    copy_attention(mine.self_attention, theirs.self_attn)
    _copy(mine.feed_forward.linear1, theirs.linear1)
    _copy(mine.feed_forward.linear2, theirs.linear2)
    for name in ("norm1", "norm2", "norm3"):
        if hasattr(theirs, name):
            _copy(getattr(mine, name), getattr(theirs, name))


@torch.no_grad()
def copy_attention(mine: Any, theirs: nn.MultiheadAttention) -> None:
    """Copy an attention to PyTorch's, which keeps its three projections in one matrix."""
    layers = (mine.w_q, mine.w_k, mine.w_v)
    theirs.in_proj_weight.copy_(torch.cat([layer.weight for layer in layers]))  # (3·D, D)
    theirs.in_proj_bias.copy_(torch.cat([layer.bias for layer in layers]))  # (3·D,)
    _copy(mine.w_o, theirs.out_proj)


def _copy(mine: Any, theirs: Any) -> None:
    theirs.weight.copy_(mine.weight)
    theirs.bias.copy_(mine.bias)


def into_torch(mine: Any, num_heads: int) -> nn.Transformer:
    """Return an nn.Transformer with the weights of `mine`, batch first and in eval mode.

    It has no embeddings and no projection, and it keeps its two final norms, as they come.
    """
    first = mine.encoder.layers[0].feed_forward.linear1
    depths = (len(mine.encoder.layers), len(mine.decoder.layers))
    theirs = nn.Transformer(first.in_features, num_heads, *depths, first.out_features, batch_first=True)
    for own, other in zip(mine.encoder.layers, theirs.encoder.layers, strict=True):
        copy_layer(own, other)
    for own, other in zip(mine.decoder.layers, theirs.decoder.layers, strict=True):
        copy_layer(own, other)
        copy_attention(own.cross_attention, other.multihead_attn)
    return theirs.eval()
