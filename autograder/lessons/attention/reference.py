"""What lesson 03 is compared with, built on torch's own operations.

Each function and class stands on its own (torch, nn, F and math are in scope), because its source
also stands in for a student's cell when later exercises are marked.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn


def softmax(x: torch.Tensor, dim: int = -1) -> torch.Tensor:
    """Library softmax along `dim`, any shape."""
    return torch.softmax(x, dim)


def attention_scores(q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
    """Q kᵀ / √K by einsum: (…,Tq,K), (…,Tk,K) -> (…,Tq,Tk)."""
    products: torch.Tensor = torch.einsum("...qd,...kd->...qk", q, k)
    return products * math.pow(q.size(-1), -0.5)


def causal_mask(size: int) -> torch.Tensor:
    """True where key j is not after query i, by comparing positions: (size, size)."""
    position = torch.arange(size)
    return torch.ge(position[:, None], position[None, :])


def padding_mask(ids: torch.Tensor, pad_id: int = 0) -> torch.Tensor:
    """True where a token is real: (B,S) -> (B,1,S)."""
    return torch.ne(ids, pad_id)[:, None, :]


def scaled_dot_product_attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Torch's own attention; the weights are what it makes of an identity matrix as values."""
    identity = torch.eye(k.size(-2), dtype=v.dtype).expand(*k.shape[:-2], -1, -1)
    output = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    weights = F.scaled_dot_product_attention(q, k, identity, attn_mask=mask)
    return output, weights


class SelfAttentionHead(nn.Module):
    """One head on torch's own attention."""

    def __init__(self, d_model: int, d_k: int | None = None) -> None:
        super().__init__()
        self.w_q = nn.Linear(d_model, d_k or d_model)
        self.w_k = nn.Linear(d_model, d_k or d_model)
        self.w_v = nn.Linear(d_model, d_model)

    def forward(self, x: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        """(B,S,D), mask that broadcasts to (B,S,S) -> (B,S,D)."""
        q, k, v = self.w_q(x), self.w_k(x), self.w_v(x)
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)


def attention_cost(  # noqa: PLR0917 - as the contract has it
    batch: int, heads: int, t_q: int, t_k: int, d_k: int, d_v: int
) -> tuple[int, int]:
    """Each product by its shapes, (T_q,K) by (K,T_k) and (T_q,T_k) by (T_k,Dv), for every head and sample."""
    of_one_head = t_q * d_k * t_k + t_q * t_k * d_v
    return batch * heads * of_one_head, math.prod((batch, heads, t_q, t_k))
