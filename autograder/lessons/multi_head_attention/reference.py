"""What lesson 04 is compared with, built on torch's own operations.

Each function and class stands on its own (torch, nn, F and math are in scope), because its source
also stands in for a student's cell when later exercises are graded.
"""

import torch
import torch.nn.functional as F
from torch import nn

from coursework.scope import NEEDS, stand_in

GIVEN = {name: stand_in(name) for name in NEEDS["04_multi_head_attention"]}


def split_heads(x: torch.Tensor, num_heads: int) -> torch.Tensor:
    """Cut the features into equal pieces, and stack those: (B,S,D) -> (B,H,S,K)."""
    return torch.stack(x.chunk(num_heads, dim=-1), dim=1)


def merge_heads(x: torch.Tensor) -> torch.Tensor:
    """Put the heads one after the other: (B,H,S,K) -> (B,S,D)."""
    return torch.cat(x.unbind(dim=1), dim=-1)


class MultiHeadAttention(nn.Module):
    """Torch's own attention, run on the heads; what it makes of an identity matrix is the weights."""

    def __init__(self, d_model: int, num_heads: int, dropout: float = 0.0) -> None:
        super().__init__()
        if d_model % num_heads:
            raise ValueError(f"{d_model} features, {num_heads} heads")
        self.num_heads, self.p = num_heads, dropout
        self.w_q, self.w_k, self.w_v, self.w_o = (nn.Linear(d_model, d_model) for _ in range(4))

    def forward(
        self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor,
        mask: torch.Tensor | None = None,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """(B,Tq,D), (B,Tk,D), (B,Tk,D), mask (Tq,Tk) or (B,1 or Tq,Tk) -> (B,Tq,D), (B,H,Tq,Tk)."""
        projected = (self.w_q(query), self.w_k(key), self.w_v(value))
        q, k, v = (x.unflatten(-1, (self.num_heads, -1)).movedim(-2, 1) for x in projected)
        allowed = None
        if mask is not None:
            allowed = mask.expand(query.size(0), query.size(1), key.size(1))[:, None]
            allowed = allowed.expand(-1, self.num_heads, -1, -1)
        identity = torch.eye(key.size(1), dtype=v.dtype).expand(*v.shape[:-1], -1)
        weights = F.scaled_dot_product_attention(q, k, identity, attn_mask=allowed)
        mixed = F.dropout(weights, self.p, self.training) @ v
        return self.w_o(mixed.movedim(1, -2).flatten(-2)), weights


def load_from_torch(mine: nn.Module, theirs: nn.MultiheadAttention) -> None:
    """Load state dicts, which copies, piece by piece."""
    weights, biases = theirs.in_proj_weight.detach(), theirs.in_proj_bias.detach()
    size = theirs.embed_dim
    for index, name in enumerate(("w_q", "w_k", "w_v")):
        rows = slice(index * size, (index + 1) * size)
        getattr(mine, name).load_state_dict({"weight": weights[rows], "bias": biases[rows]})
    mine.get_submodule("w_o").load_state_dict(theirs.out_proj.state_dict())


def parameter_count(d_model: int, num_heads: int) -> int:  # noqa: ARG001 - heads cost nothing
    """Count the parameters of PyTorch's layer, which has the same."""
    return sum(p.numel() for p in nn.MultiheadAttention(d_model, 1).parameters())


def load_from_bert(mine: nn.Module, theirs: nn.Module) -> None:
    """Load a state dict, which copies, into each of the four layers."""
    sources = {"w_q": "self.query", "w_k": "self.key", "w_v": "self.value", "w_o": "output.dense"}
    for name, source in sources.items():
        mine.get_submodule(name).load_state_dict(theirs.get_submodule(source).state_dict())
