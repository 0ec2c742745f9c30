"""References of lesson 03, built on torch's own operations; the others are stand-ins of the coursework."""

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
