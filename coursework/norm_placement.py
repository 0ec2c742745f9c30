"""Untrained stacks of PyTorch's encoder layers, post-norm or pre-norm, to compare how they train."""

import torch
from torch import Tensor, nn


def fresh_layers(depth: int, *, norm_first: bool, d_model: int, d_ff: int) -> list[nn.Module]:
    """Return `depth` encoder layers of four heads with Xavier-uniform matrices and no dropout.

    With `norm_first` they are pre-norm, and the norm that a pre-norm stack needs at its end follows.
    """
    layers = [
        nn.TransformerEncoderLayer(d_model, 4, d_ff, dropout=0.0, batch_first=True, norm_first=norm_first)
        for _ in range(depth)
    ]
    for parameter in nn.ModuleList(layers).parameters():
        if parameter.dim() > 1:
            nn.init.xavier_uniform_(parameter)
    return [*layers, nn.LayerNorm(d_model)] if norm_first else [*layers]


class TokensAndPositions(nn.Module):
    """A learnt vector for each token plus a learnt vector for each of `length` positions."""

    def __init__(self, vocab_size: int, length: int, d_model: int) -> None:
        super().__init__()
        self.tokens = nn.Embedding(vocab_size, d_model)
        self.positions = nn.Parameter(torch.empty(length, d_model).normal_(std=0.7))

    def forward(self, ids: Tensor) -> Tensor:
        """Return vectors (B, length, D) for ids (B, length)."""
        embedded: Tensor = self.tokens(ids)
        return embedded + self.positions
