"""What lesson 05 is compared with, built on torch's own modules.

Each class stands on its own (torch, nn, F and math are in scope), because its source also stands in
for a student's cell when later exercises are graded. The encoder layer is torch's, called with
weights that are kept under the names of the contract.
"""

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from coursework import scope

GIVEN = {name: scope.stand_in(name) for name in scope.NEEDS["05_encoder"]}


class LayerNorm(nn.Module):
    """Torch's own layer norm over the last dimension."""

    def __init__(self, d_model: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(…,D) -> (…,D)."""
        return F.layer_norm(x, self.weight.shape, self.weight, self.bias, self.eps)


class FeedForward(nn.Sequential):
    """Torch's modules in sequence: (…,D) -> (…,D)."""

    def __init__(self, d_model: int, d_ff: int, dropout: float = 0.1) -> None:
        super().__init__()
        self.add_module("linear1", nn.Linear(d_model, d_ff))
        self.add_module("dropout", nn.Dropout(dropout))
        self.add_module("relu", nn.ReLU())
        self.add_module("linear2", nn.Linear(d_ff, d_model))


class EncoderLayer(nn.Module):
    """nn.TransformerEncoderLayer, called with weights under the contract's names."""

    def __init__(self, d_model: int, num_heads: int, d_ff: int, dropout: float = 0.1) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.self_attention, self.feed_forward = nn.Module(), nn.Sequential()
        for name in ("w_q", "w_k", "w_v", "w_o"):
            self.self_attention.add_module(name, nn.Linear(d_model, d_model))
        self.feed_forward.add_module("linear1", nn.Linear(d_model, d_ff))
        self.feed_forward.add_module("relu", nn.ReLU())
        self.feed_forward.add_module("dropout", nn.Dropout(dropout))
        self.feed_forward.add_module("linear2", nn.Linear(d_ff, d_model))
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        build: Any = nn.TransformerEncoderLayer
        self.theirs = (build(d_model, num_heads, d_ff, dropout, batch_first=True),)  # a tuple: not registered

    def forward(self, x: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        """(B,S,D), mask that broadcasts to (B,S,S) -> (B,S,D)."""
        hidden = None
        if mask is not None:
            allowed = mask.expand(x.size(0), x.size(1), x.size(1))
            hidden = ~allowed.repeat_interleave(self.num_heads, dim=0)
        theirs = self.theirs[0].train(self.training)
        result: torch.Tensor = torch.func.functional_call(
            theirs, self._weights(), (x,), {"src_mask": hidden}
        )
        return result

    def _weights(self) -> dict[str, torch.Tensor]:
        """Return the weights under torch's names."""
        own: dict[str, torch.Tensor] = dict(self.named_parameters())
        names = {"self_attn.out_proj": "self_attention.w_o", "linear1": "feed_forward.linear1"}
        names |= {"linear2": "feed_forward.linear2", "norm1": "norm1", "norm2": "norm2"}
        found: dict[str, torch.Tensor] = {}
        for kind in ("weight", "bias"):
            found |= {f"{new}.{kind}": own[f"{old}.{kind}"] for new, old in names.items()}
            parts = [own[f"self_attention.{name}.{kind}"] for name in ("w_q", "w_k", "w_v")]
            found[f"self_attn.in_proj_{kind}"] = torch.cat(parts)
        return found


class EncoderLayerFromParts(nn.Module):
    """The same layer by torch's functions, for exercises that exclude torch's finished layers."""

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

    def forward(self, x: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        """(B,S,D), mask that broadcasts to (B,S,S) -> (B,S,D)."""
        q, k, v = (
            self.self_attention[f"w_{name}"](x).unflatten(-1, (self.heads, -1)).movedim(-2, 1)
            for name in "qkv"
        )
        if mask is not None:
            mask = mask.expand(x.size(0), x.size(1), x.size(1))[:, None]
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        read = self.self_attention["w_o"](mixed.movedim(1, -2).flatten(-2))
        x = self.norm1(x + F.dropout(read, self.p, self.training))
        hidden = F.dropout(self.feed_forward["linear1"](x).clamp(min=0), self.p, self.training)
        hidden = F.dropout(self.feed_forward["linear2"](hidden), self.p, self.training)
        result: torch.Tensor = self.norm2(x + hidden)
        return result


class Encoder(nn.Module):
    """An embedding table, sines and cosines, and encoder layers."""

    def __init__(  # noqa: PLR0917 - the arguments are the contract's
        self, vocab_size: int, d_model: int, num_layers: int, num_heads: int, d_ff: int,
        max_len: int = 512, dropout: float = 0.1,
    ) -> None:
        super().__init__()
        self.max_len, self.p = max_len, dropout
        self.embedding = nn.Module()
        self.embedding.add_module("embed", nn.Embedding(vocab_size, d_model, padding_idx=0))
        sizes = (d_model, num_heads, d_ff, dropout)
        self.layers = nn.ModuleList([EncoderLayer(*sizes) for _ in range(num_layers)])

    def forward(self, ids: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        """(B,S), mask that broadcasts to (B,S,S) -> (B,S,D)."""
        if ids.size(1) > self.max_len:
            raise ValueError(f"{ids.size(1)} tokens, at most {self.max_len}")
        x: torch.Tensor = self.embedding.get_submodule("embed")(ids)
        x = x * math.sqrt(x.size(-1))
        x = F.dropout(x + self._positions(x), self.p, self.training)
        for layer in self.layers:
            x = layer(x, mask)
        return x

    def _positions(self, x: torch.Tensor) -> torch.Tensor:
        """Return sines and cosines (S, D) of the positions, in float32 as the contract has them."""
        even = torch.arange(0, x.size(-1), 2, dtype=torch.float64)
        position = torch.arange(x.size(1), dtype=torch.float64)[:, None]
        angles = position / 10000 ** (even / x.size(-1))
        return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1).float()


class GatedFeedForward(nn.Module):
    """Torch's own gated linear unit: silu(z) is z · sigmoid(z), so a GLU of (z · other, z)."""

    def __init__(self, d_model: int, d_ff: int) -> None:
        super().__init__()
        for name, sizes in {"w1": (d_model, d_ff), "w2": (d_ff, d_model), "w3": (d_model, d_ff)}.items():
            self.add_module(name, nn.Linear(*sizes, bias=False))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(…,D) -> (…,D)."""
        w1, w2, w3 = (self.get_parameter(f"w{number}.weight") for number in (1, 2, 3))
        opened = F.linear(x, w1)
        return F.linear(F.glu(torch.cat([opened * F.linear(x, w3), opened], dim=-1)), w2)
