"""Two decoders whose attentions are wired wrongly, for the experiment of lesson 6.

They are reduced to attentions and residuals: norms and feed-forward work on each position by itself
and change nothing about who sees whom. Both need source and target of one length.
"""

import torch
from torch import nn


class _TwoAttentions(nn.Module):
    """Two of PyTorch's attentions; the first is causal."""

    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__()
        self.first = nn.MultiheadAttention(d_model, num_heads, batch_first=True)
        self.second = nn.MultiheadAttention(d_model, num_heads, batch_first=True)

    def read(self, tokens: torch.Tensor) -> torch.Tensor:
        """Run the first attention over one sequence (B, L, D), and add the residual."""
        future = torch.ones(tokens.size(1), tokens.size(1), dtype=torch.bool).triu(diagonal=1)
        read: torch.Tensor = self.first(tokens, tokens, tokens, attn_mask=future)[0]
        return tokens + read

    def mix(self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        """Run the second attention, and add the values as if they were the queries."""
        mixed: torch.Tensor = self.second(query, key, value)[0]
        return value + mixed


class SelfAttentionOnMemory(_TwoAttentions):
    """The decoder layer of a notebook that was often copied: its self-attention reads the memory."""

    def forward(self, x: torch.Tensor, memory: torch.Tensor) -> torch.Tensor:
        """Take x (B, T, D), memory (B, S, D) with S = T; return (B, T, D)."""
        return self.mix(query=x, key=memory, value=self.read(memory))


class QueriesFromMemory(_TwoAttentions):
    """Its obvious repair: the self-attention reads the target, the second asks in the memory's name."""

    def forward(self, x: torch.Tensor, memory: torch.Tensor) -> torch.Tensor:
        """Take x (B, T, D), memory (B, S, D) with S = T; return (B, S, D)."""
        return self.mix(query=memory, key=memory, value=self.read(x))
