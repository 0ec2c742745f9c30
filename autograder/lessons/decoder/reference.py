"""The reference of `decode_step`; those of the other exercises of lesson 06 are stand-ins.

Their sources also stand in for a student's earlier answers (see `judge.stand_ins`): torch, nn,
F and math are in scope there, and the functions and classes of ours that they name.
"""

from typing import Any

import torch
import torch.nn.functional as F


def decode_step(layer: Any, x: torch.Tensor, cache: Any = None) -> tuple[torch.Tensor, Any]:
    """Keep keys and values of all heads, and leave the attention to torch: (B,1,D) -> (B,1,D), cache."""
    attention, normed = layer.self_attention, layer.norm1(x)
    q, k, v = (
        part(normed).unflatten(-1, (attention.num_heads, -1)).movedim(-2, 1)
        for part in (attention.w_q, attention.w_k, attention.w_v)
    )
    if cache is not None:
        k, v = (torch.cat(both, dim=2) for both in zip(cache, (k, v), strict=True))
    mixed = F.scaled_dot_product_attention(q, k, v)
    x = x + attention.w_o(mixed.movedim(1, -2).flatten(-2))
    return x + layer.feed_forward(layer.norm2(x)), (k, v)
