"""A Llama whose cache has a mistake, for a case of lesson 9."""

from typing import Any

from torch import Tensor, nn

from coursework.smollm import BASE, Past, rotate_pairs


class AnotherLlama(nn.Module):
    """The student's model, with one line of its attention exchanged for a wrong one.

    It rotates all keys after it has appended the new ones, so those of the past once more at each call.
    """

    def __init__(self, model: nn.Module, base: float = BASE) -> None:
        super().__init__()
        self.model, self.base = model, base

    def forward(self, ids: Tensor, past: Past | None = None) -> Any:
        """(1, T) and what an earlier call returned -> logits (1, T, V), keys and values so far."""
        rotated = past and [(rotate_pairs(keys[0], self.base)[None], values) for keys, values in past]
        return self.model(ids, rotated)
