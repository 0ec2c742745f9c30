"""Rotary positions that count from anywhere, made of a `rotary` that counts from 0.

A model with a cache only sees its new positions, while the `rotary` of lesson 2 starts at position 0.
"""

from collections.abc import Callable
from functools import lru_cache

import torch
from torch import Tensor

Rotary = Callable[[Tensor, float], Tensor]
FEWEST = 64  # positions of the smallest table


def start_anywhere(rotary: Rotary) -> Callable[..., Tensor]:
    """Return `rotary_from(x, start=0, base=10000.0)`, which turns as `rotary` does, from any position.

    `rotary(x, base)` turns pairs of neighbours in x (B, S, D) by the angles of positions 0 to S - 1. It is
    asked once for the directions (1, 0) at every position, which turn into (cos, sin). They are kept, so
    that a new position costs the same however many came before.
    """

    @lru_cache(maxsize=16)
    def table(positions: int, width: int, base: float, dtype: torch.dtype) -> Tensor:
        ahead = torch.zeros(1, positions, width, dtype=dtype)
        ahead[..., 0::2] = 1
        return rotary(ahead, base).reshape(positions, -1, 2)  # cos and sin of width / 2 pairs

    def rotary_from(x: Tensor, start: int = 0, base: float = 10000.0) -> Tensor:
        """Turn each pair of neighbours in x by the angle of its position, of which `start` is the first.

        x: (…, T, K), with an even K. Returns: the same shape.
        """
        if isinstance(start, float):
            raise TypeError(
                f"start should be a whole number, the first position; got {start}. Is it the base?"
            )
        length, width = x.shape[-2:]
        enough = max(FEWEST, 1 << (start + length - 1).bit_length())  # few tables, as a text grows
        precise = torch.promote_types(x.dtype, torch.float32)  # 16 bits are too few for an angle
        with torch.inference_mode(mode=False), torch.no_grad():
            turned = table(enough, width, base, precise)[start : start + length].to(x)  # (T, K / 2, 2)
        pairs = x.reshape(*x.shape[:-1], -1, 2)  # (…, T, K / 2, 2)
        quarter = torch.stack([-pairs[..., 1], pairs[..., 0]], dim=-1)  # turned by 90 degrees
        found: Tensor = (pairs * turned[..., :1] + quarter * turned[..., 1:]).flatten(-2)
        return found

    return rotary_from
