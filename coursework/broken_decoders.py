"""Attentions and masks that are wired wrongly, for the experiments of lessons 6 and 7.

The two decoders consist of attentions and residual connections alone. Norms and feed-forward networks
process each position separately, so they don't change which output depends on which token. Both need
a source and a target of the same length.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class _TwoAttentions(nn.Module):
    """Two of PyTorch's attentions; the first is causal."""

    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__()
        self.first = nn.MultiheadAttention(d_model, num_heads, batch_first=True)
        self.second = nn.MultiheadAttention(d_model, num_heads, batch_first=True)

    def read(self, tokens: Tensor) -> Tensor:
        """Run the first attention over one sequence (B, L, D), with a residual connection."""
        future = torch.ones(tokens.size(1), tokens.size(1), dtype=torch.bool).triu(diagonal=1)
        read: Tensor = self.first(tokens, tokens, tokens, attn_mask=future)[0]
        return tokens + read

    def mix(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """Run the second attention; its residual connection starts from the values."""
        mixed: Tensor = self.second(query, key, value)[0]
        return value + mixed


class SelfAttentionOnMemory(_TwoAttentions):
    """A decoder layer whose arguments arrive in the wrong order: its self-attention reads the memory."""

    def forward(self, x: Tensor, memory: Tensor) -> Tensor:
        """Take x (B, T, D), memory (B, S, D) with S = T; return (B, T, D)."""
        return self.mix(query=x, key=memory, value=self.read(memory))


class QueriesFromMemory(_TwoAttentions):
    """The obvious repair: the self-attention reads the target, but the memory supplies the queries."""

    def forward(self, x: Tensor, memory: Tensor) -> Tensor:
        """Take x (B, T, D), memory (B, S, D) with S = T; return (B, S, D)."""
        return self.mix(query=memory, key=memory, value=self.read(x))


class HeadsMixedUp(nn.Module):
    """An attention whose heads are merged by a reshape alone, which mixes tokens."""

    def __init__(self, attention: Any, num_heads: int) -> None:
        super().__init__()
        self.inner, self.num_heads = attention, num_heads

    def forward(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Take (B, T, D), a mask (B, T, T); return output (B, T, D), and weights (B, H, T, T)."""
        projected = (self.inner.w_q(query), self.inner.w_k(key), self.inner.w_v(value))
        asked, offered, passed = (x.unflatten(-1, (self.num_heads, -1)) for x in projected)  # (B, T, H, K)
        scores = torch.einsum("bqhk,bshk->bhqs", asked, offered) / asked.size(-1) ** 0.5
        weights = scores.masked_fill(~mask[:, None], -torch.inf).softmax(dim=-1)  # (B, H, T, T)
        mixed = torch.einsum("bhqs,bshk->bhqk", weights, passed)  # (B, H, T, K)
        return self.inner.w_o(mixed.reshape(query.shape)), weights


def without_causal_mask(model: Any) -> Any:
    """Let the decoder of a Transformer see the whole target. Returns the model."""
    return _with_self_mask(model, diagonal=None)


def one_step_too_far(model: Any) -> Any:
    """Let every position of the decoder see one token of the future. Returns the model."""
    return _with_self_mask(model, diagonal=1)


def heads_without_transpose(model: Any, num_heads: int = 4) -> Any:
    """Make the decoder's self-attention merge its heads by a reshape alone. Returns the model."""
    for layer in model.decoder.layers:
        layer.self_attention = HeadsMixedUp(layer.self_attention, num_heads)
    return model


def unshifted_step(model: Any, src: Tensor, tgt: Tensor, optimiser: torch.optim.Optimizer) -> float:
    """Make one update of a Transformer whose decoder is fed the target itself. Returns the loss."""
    model.train()
    loss = F.cross_entropy(model(src, tgt).transpose(1, 2), tgt, ignore_index=model.pad_id)
    optimiser.zero_grad()
    torch.autograd.backward(loss)
    optimiser.step()
    return loss.item()


def _with_self_mask(model: Any, diagonal: int | None) -> Any:
    """Let the decoder of a Transformer see the target up to a diagonal, or all of it."""

    def decode(tgt: Tensor, memory: Tensor, src: Tensor) -> Any:
        is_real, source = tgt[:, None] != model.pad_id, src[:, None] != model.pad_id
        mask = torch.ones(tgt.size(1), tgt.size(1), dtype=torch.bool)
        mask = mask if diagonal is None else mask.tril(diagonal)
        return model.decoder(tgt, memory, mask & is_real, source)

    model.decode = decode
    model.forward = lambda src, tgt: decode(tgt, model.encode(src), src)
    return model
