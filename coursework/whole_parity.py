"""Copies a Transformer of this course into PyTorch's own, so that both can be compared."""

from typing import Any

from torch import nn

from coursework.torch_decoder import copy_attention, copy_layer


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
