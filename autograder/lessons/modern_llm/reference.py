"""References of lesson 09: torch's RMS norm and grouped attention, and rotations as complex numbers."""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from coursework.rotary_positions import start_anywhere
from coursework.stand_ins_modern import GatedFeedForward, rotary

GIVEN = {"rotary_from": start_anywhere(rotary)}


class RMSNorm(nn.RMSNorm):
    """Torch's own."""

    def __init__(self, d_model: int, eps: float = 1e-5) -> None:
        super().__init__(d_model, eps=eps)


class GroupedQueryAttention(nn.Module):
    """Torch's attention with shared heads; pairs of features are multiplied by complex numbers."""

    def __init__(self, d_model: int, num_heads: int, num_kv_heads: int, base: float = 10000.0) -> None:
        super().__init__()
        if d_model % num_heads or num_heads % num_kv_heads:
            raise ValueError("the heads do not come out even")
        self.width, self.base = d_model // num_heads, base
        for name, heads in (("q", num_heads), ("k", num_kv_heads), ("v", num_kv_heads), ("o", num_heads)):
            self.add_module(f"w_{name}", nn.Linear(d_model, heads * self.width, bias=False))

    def forward(self, x: torch.Tensor, past: Any = None) -> Any:
        """(B,T,D), past of P positions -> (B,T,D), keys and values (B,G,P+T,K)."""
        length = x.size(1)
        before = past[0].size(2) if past else 0
        q, k, v = (self._heads(name, x) for name in ("w_q", "w_k", "w_v"))
        q, k = self._turned(q, before), self._turned(k, before)
        if past:
            k, v = (torch.cat(both, dim=2) for both in zip(past, (k, v), strict=True))
        seen = torch.ones(length, before + length, dtype=torch.bool).tril(diagonal=before)
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=seen, enable_gqa=True)
        return self.get_submodule("w_o")(mixed.movedim(1, 2).flatten(2)), (k, v)

    def _heads(self, name: str, x: torch.Tensor) -> torch.Tensor:
        """(B,T,D) -> (B,heads,T,K)."""
        projected: torch.Tensor = self.get_submodule(name)(x)
        return projected.reshape(*x.shape[:2], -1, self.width).movedim(2, 1)

    def _turned(self, x: torch.Tensor, before: int) -> torch.Tensor:
        """(B,heads,T,K), in double precision on the way."""
        pairs = torch.view_as_complex(x.double().reshape(*x.shape[:-1], -1, 2))
        slowness = torch.arange(pairs.size(-1), dtype=torch.float64) / pairs.size(-1)
        places = torch.arange(before, before + x.size(2), dtype=torch.float64)
        angles = torch.outer(places, self.base**-slowness)
        return torch.view_as_real(pairs * torch.exp(1j * angles)).flatten(-2).to(x.dtype)


class LlamaLayer(nn.Module):
    """Two branches, each added to what it reads."""

    def __init__(  # noqa: PLR0917 - the contract's order of arguments
        self, d_model: int, num_heads: int, num_kv_heads: int, d_ff: int, base: float = 10000.0,
        eps: float = 1e-5,
    ) -> None:
        super().__init__()
        self.norm1, self.norm2 = RMSNorm(d_model, eps), RMSNorm(d_model, eps)
        self.attention = GroupedQueryAttention(d_model, num_heads, num_kv_heads, base)
        self.feed_forward = GatedFeedForward(d_model, d_ff)

    def forward(self, x: torch.Tensor, past: Any = None) -> Any:
        """(B,T,D), past -> (B,T,D), keys and values."""
        read, kept = self.attention(self.norm1(x), past)
        stream = torch.add(x, read)
        return torch.add(stream, self.feed_forward(self.norm2(stream))), kept


class Llama(nn.Module):
    """Layers between a lookup and a linear map of the same table."""

    def __init__(  # noqa: PLR0917 - the contract's order of arguments
        self, vocab_size: int, d_model: int, num_layers: int, num_heads: int, num_kv_heads: int, d_ff: int,
        base: float = 10000.0, eps: float = 1e-5,
    ) -> None:
        super().__init__()
        sizes = (d_model, num_heads, num_kv_heads, d_ff, base, eps)
        self.layers = nn.ModuleList(LlamaLayer(*sizes) for _ in range(num_layers))
        self.embedding, self.norm = nn.Embedding(vocab_size, d_model), RMSNorm(d_model, eps)

    def forward(self, ids: torch.Tensor, past: Any = None) -> Any:
        """(B,T), a pair a layer -> (B,T,V), a pair a layer."""
        stream, kept = F.embedding(ids, self.embedding.weight), []
        for layer, pair in zip(self.layers, past or [None] * len(self.layers), strict=True):
            stream, grown = layer(stream, pair)
            kept += [grown]
        return F.linear(self.norm(stream), self.embedding.weight), kept


def load_llama(model: Any, tensors: dict[str, torch.Tensor]) -> None:
    """Copy by the paths of the submodules that the names of the file stand for."""
    heads = {f"attn_{name}": f"attention.w_{name}" for name in "qkv"}
    rest = {"attn_output": "attention.w_o", "attn_norm": "norm1", "ffn_norm": "norm2"}
    numbers = {"gate": 1, "up": 3, "down": 2}
    gated = {f"ffn_{name}": f"feed_forward.w{number}" for name, number in numbers.items()}
    places = {"token_embd.weight": model.embedding, "output_norm.weight": model.norm}
    for number, layer in enumerate(model.layers):
        parts = {**heads, **rest, **gated}
        places |= {f"blk.{number}.{name}.weight": layer.get_submodule(path) for name, path in parts.items()}
    for name in [*places, *tensors]:
        if name not in tensors or name not in places or places[name].weight.shape != tensors[name].shape:
            raise ValueError(name)
    for name, part in places.items():
        part.weight.data.copy_(tensors[name])


def generate(model: Any, ids: Any, max_new: int, choose: Callable[..., Any], end_id: int) -> Any:
    """Keep plain numbers, and ask the model again only while more are wanted."""
    mode = model.training
    new: list[int] = []
    try:
        with torch.inference_mode():
            logits, past = model.eval()(ids)
            while len(new) < max_new and end_id not in new:
                if new:
                    logits, past = model(torch.tensor([new[-1:]]), past)
                new.append(int(choose(logits[:, -1])))
    finally:
        model.train(mode)
    return torch.tensor([new])


def quantise(weight: torch.Tensor, block: int = 32) -> Any:
    """Count for each weight how many of the 15 thresholds between two levels lie below it."""
    if weight.size(1) % block:
        raise ValueError("the last block is short")
    blocks = weight.reshape(-1, block)
    low, high = torch.aminmax(blocks, dim=1, keepdim=True)
    step = (high - low) / 15
    thresholds = low + step * (torch.arange(15) + 0.5)  # (blocks, 15)
    levels = (blocks[:, :, None] > thresholds[:, None]).sum(dim=-1)
    return levels.to(torch.uint8).view(weight.shape), *(x.view(len(weight), -1) for x in (step, low))
