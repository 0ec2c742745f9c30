"""What lesson 06 is compared with, built on torch's own operations.

Each function and class stands on its own (torch, nn, F and math are in scope), because its source
also stands in for a student's cell when later exercises are graded.
"""

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from coursework.scope import NEEDS, stand_in

GIVEN = {name: stand_in(name) for name in NEEDS["06_decoder"]}


def shift_right(target: torch.Tensor, sos_id: int = 1) -> torch.Tensor:
    """Pad on the left by one, and on the right by minus one: (B,T) -> (B,T)."""
    return F.pad(target, (1, -1), value=sos_id)


def target_mask(ids: torch.Tensor, pad_id: int = 0) -> torch.Tensor:
    """Compare positions, then cross out the columns of padding: (B,T) -> (B,T,T)."""
    position = torch.arange(ids.size(1))
    return torch.where(ids[:, None, :] == pad_id, False, position[:, None] >= position)


class DecoderLayer(nn.Module):
    """The parts only hold weights; torch's functions do the work."""

    def __init__(self, d_model: int, num_heads: int, d_ff: int, dropout: float = 0.1) -> None:
        super().__init__()
        self.heads, self.p = num_heads, dropout
        self.self_attention, self.cross_attention = (
            nn.ModuleDict({f"w_{name}": nn.Linear(d_model, d_model) for name in "qkvo"})
            for _ in range(2)
        )
        self.feed_forward = nn.ModuleDict(
            {"linear1": nn.Linear(d_model, d_ff), "linear2": nn.Linear(d_ff, d_model)}
        )
        self.norm1, self.norm2, self.norm3 = (nn.LayerNorm(d_model) for _ in range(3))

    def drop(self, x: torch.Tensor) -> torch.Tensor:
        """Drop entries in train mode."""
        return F.dropout(x, self.p, self.training)

    def attend(
        self, part: nn.ModuleDict, x: torch.Tensor, read: torch.Tensor, mask: torch.Tensor | None,
    ) -> torch.Tensor:
        """(B,T,D), (B,S,D), mask (T,S) or (B,1 or T,S) -> (B,T,D)."""
        q, k, v = (
            part[f"w_{name}"](of).unflatten(-1, (self.heads, -1)).movedim(-2, 1)
            for name, of in (("q", x), ("k", read), ("v", read))
        )
        if mask is not None:
            mask = mask.expand(x.size(0), x.size(1), read.size(1))[:, None]
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        result: torch.Tensor = part["w_o"](mixed.movedim(1, -2).flatten(-2))
        return result

    def forward(
        self, x: torch.Tensor, memory: torch.Tensor, self_mask: torch.Tensor | None = None,
        memory_mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """(B,T,D), (B,S,D), masks -> (B,T,D)."""
        for norm, part, read, mask in (
            (self.norm1, self.self_attention, None, self_mask),
            (self.norm2, self.cross_attention, memory, memory_mask),
        ):
            x = norm(x + self.drop(self.attend(part, x, x if read is None else read, mask)))
        hidden = self.drop(self.feed_forward["linear1"](x).clamp(min=0))
        result: torch.Tensor = self.norm3(x + self.drop(self.feed_forward["linear2"](hidden)))
        return result


class Decoder(nn.Module):
    """Uses torch's own embedding, positions from complex numbers, and the DecoderLayer in scope."""

    def __init__(  # noqa: PLR0917 - the contract's signature
        self, vocab_size: int, d_model: int, num_layers: int, num_heads: int, d_ff: int,
        max_len: int = 512, dropout: float = 0.1,
    ) -> None:
        super().__init__()
        self.p = dropout
        self.embedding = nn.ModuleDict({"embed": nn.Embedding(vocab_size, d_model)})
        self.position = nn.Module()
        rates = torch.logspace(0, -4, d_model // 2 + 1, dtype=torch.float64)[:-1]
        turns = torch.exp(1j * torch.outer(torch.arange(max_len, dtype=torch.float64), rates))
        table = torch.stack([turns.imag, turns.real], dim=-1).flatten(1)
        self.position.register_buffer("pe", table.float())
        parts = (d_model, num_heads, d_ff, dropout)
        self.layers = nn.ModuleList(DecoderLayer(*parts) for _ in range(num_layers))
        self.project = nn.Linear(d_model, vocab_size)

    def forward(
        self, ids: torch.Tensor, memory: torch.Tensor, self_mask: torch.Tensor | None = None,
        memory_mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """(B,T), (B,S,D), masks -> logits (B,T,V)."""
        table, pe = self.embedding.get_parameter("embed.weight"), self.position.get_buffer("pe")
        tokens = F.embedding(ids, table) * (ids != 0)[..., None] * math.sqrt(table.size(1))
        x = F.dropout(tokens + pe[: ids.size(1)], self.p, self.training)
        for layer in self.layers:
            x = layer(x, memory, self_mask=self_mask, memory_mask=memory_mask)
        return F.linear(x, self.project.weight, self.project.bias)


class CausalDecoderLayer(nn.Module):
    """The parts only hold weights; torch's functions do the work."""

    def __init__(self, d_model: int, num_heads: int, d_ff: int, dropout: float = 0.1) -> None:
        super().__init__()
        self.heads, self.p = num_heads, dropout
        self.self_attention = nn.ModuleDict(
            {f"w_{name}": nn.Linear(d_model, d_model) for name in "qkvo"}
        )
        self.feed_forward = nn.ModuleDict(
            {"linear1": nn.Linear(d_model, d_ff), "linear2": nn.Linear(d_ff, d_model)}
        )
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(B,T,D) -> (B,T,D)."""
        normed = self.norm1(x)
        q, k, v = (
            self.self_attention[f"w_{name}"](normed).unflatten(-1, (self.heads, -1)).movedim(-2, 1)
            for name in "qkv"
        )
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        read = self.self_attention["w_o"](mixed.movedim(1, -2).flatten(-2))
        x = x + F.dropout(read, self.p, self.training)
        hidden = self.feed_forward["linear1"](self.norm2(x)).clamp(min=0)
        hidden = F.dropout(hidden, self.p, self.training)
        return x + F.dropout(self.feed_forward["linear2"](hidden), self.p, self.training)


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
