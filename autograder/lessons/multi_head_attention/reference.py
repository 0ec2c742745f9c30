"""References of lesson 04, built on torch's own operations."""

import torch
from torch import nn


def split_heads(x: torch.Tensor, num_heads: int) -> torch.Tensor:
    """Cut the features into equal pieces, and stack those: (B,S,D) -> (B,H,S,K)."""
    return torch.stack(x.chunk(num_heads, dim=-1), dim=1)


def merge_heads(x: torch.Tensor) -> torch.Tensor:
    """Put the heads one after the other: (B,H,S,K) -> (B,S,D)."""
    return torch.cat(x.unbind(dim=1), dim=-1)


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
