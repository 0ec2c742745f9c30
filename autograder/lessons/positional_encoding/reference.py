"""References of lesson 02: complex numbers and torch's own lookups."""

import torch
import torch.nn.functional as F
from torch import nn


def sinusoidal_encoding(max_len: int, d_model: int) -> torch.Tensor:
    """Return the table (max_len, d_model), as unit complex numbers: sine first, then cosine."""
    if d_model % 2:
        raise ValueError("d_model is odd")
    speed = torch.logspace(0, -4, d_model + 1, dtype=torch.float64)[:-1:2]
    turned = torch.outer(torch.arange(max_len, dtype=torch.float64), speed)
    numbers = torch.polar(torch.ones_like(turned), turned)
    return torch.stack([numbers.imag, numbers.real], dim=-1).reshape(max_len, d_model).float()


def shift_matrix(offset: int, d_model: int) -> torch.Tensor:
    """Return the matrix (d_model, d_model), each block the exponential of a multiple of a quarter turn."""
    speed = torch.logspace(0, -4, d_model + 1, dtype=torch.float64)[:-1:2]
    quarter = torch.tensor([[0.0, 1.0], [-1.0, 0.0]], dtype=torch.float64)
    blocks = torch.matrix_exp(speed[:, None, None] * offset * quarter)  # (D / 2, 2, 2)
    matrix = torch.zeros(d_model // 2, 2, d_model // 2, 2, dtype=torch.float64)
    for pair, block in enumerate(blocks):
        matrix[pair, :, pair] = block
    return matrix.view(d_model, d_model).float()


class LearnedPositionalEmbedding(nn.Module):
    """The first rows of a learnt table, looked up with `F.embedding`."""

    def __init__(self, max_len: int, d_model: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(max_len, d_model)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(B,S,D) -> (B,S,D)."""
        if x.size(1) > self.embed.weight.size(0):
            raise ValueError("longer than the table")
        return torch.add(x, F.embedding(torch.arange(x.size(1)), self.embed.weight))


def rotary(x: torch.Tensor, base: float = 10000.0) -> torch.Tensor:
    """Multiply each pair, taken as a complex number, by one on the unit circle."""
    if x.size(-1) % 2:
        raise ValueError("the width is odd")
    speed = base ** -torch.arange(0, 1, 2 / x.size(-1), dtype=torch.float64)[: x.size(-1) // 2]
    turned = torch.outer(torch.arange(x.size(1), dtype=torch.float64), speed)
    pairs = torch.complex(x[..., 0::2].double(), x[..., 1::2].double())
    return torch.view_as_real(pairs * torch.polar(torch.ones_like(turned), turned)).flatten(-2).to(x)
