"""References of lesson 07, built on torch's own operations."""

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from coursework.stand_ins import LayerNorm
from coursework.stand_ins_models import CausalDecoderLayer, Stack

IMPORTS = ("torch._dynamo",)  # by optimisers


def greedy_decode(
    model: Any, src: torch.Tensor, max_len: int, sos_id: int = 1, eos_id: int = 2,
) -> torch.Tensor:
    """Grow all rows, and blank what comes after the first <eos> by counting those before."""
    mode = model.training
    model.eval()
    grown = torch.full((len(src), 1), sos_id, dtype=torch.long)
    with torch.inference_mode():
        memory = model.encode(src)
        while grown.size(1) <= max_len and not grown[:, 1:].eq(eos_id).any(dim=1).all():
            word = model.decode(grown, memory, src)[:, -1].max(dim=-1).indices
            done = grown[:, 1:].eq(eos_id).any(dim=1)
            grown = torch.column_stack([grown, torch.where(done, model.pad_id, word)])
    model.train(mode)
    return grown[:, 1:].clone()


def label_smoothing_loss(
    logits: torch.Tensor, target: torch.Tensor, smoothing: float = 0.1, pad_id: int = 0,
) -> torch.Tensor:
    """Torch's own cross-entropy, over (B·T, V)."""
    return F.cross_entropy(
        logits.flatten(0, 1), target.flatten(), ignore_index=pad_id, label_smoothing=smoothing
    )


def noam_rate(step: int, d_model: int, warmup: int = 4000) -> float:
    """The formula of section 5.3, by cases; zero at step 0."""
    if step < warmup:
        return step / math.sqrt(d_model * warmup**3)
    return 1 / math.sqrt(d_model * step)


def train_step(
    model: Any, src: torch.Tensor, tgt: torch.Tensor, optimiser: Any, smoothing: float = 0.0,
) -> float:
    """Inputs by concatenation, the loss by torch, one update."""
    model.train()
    before = torch.cat([torch.ones_like(tgt[:, :1]), tgt[:, :-1]], dim=1)
    optimiser.zero_grad(set_to_none=True)
    logits = model(src, before).flatten(0, 1)
    loss = F.cross_entropy(
        logits, tgt.flatten(), ignore_index=model.pad_id, label_smoothing=smoothing
    )
    torch.autograd.backward(loss)
    optimiser.step()
    return float(loss.detach())


def language_windows(ids: torch.Tensor, length: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Cut windows of length + 1 that begin `length` apart, and take both ends of each."""
    if len(ids) <= length:
        return ids.new_empty(0, length), ids.new_empty(0, length)
    windows = ids.unfold(0, length + 1, length)
    return windows[:, :-1], windows[:, 1:]


class LanguageModel(Stack):
    """Causal layers between embedding and projection."""

    layer = CausalDecoderLayer

    def __init__(self, vocab_size: int, d_model: int, *sizes: Any, **options: Any) -> None:
        super().__init__(vocab_size, d_model, *sizes, **options)
        self.norm = LayerNorm(d_model)
        self.project = nn.Linear(d_model, vocab_size)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """(B,T) -> (B,T,V)."""
        return F.linear(self.norm(self.climb(ids)), self.project.weight, self.project.bias)


def sample_next(
    logits: torch.Tensor, temperature: float = 1.0, top_k: int | None = None,
    top_p: float | None = None, generator: torch.Generator | None = None,
) -> torch.Tensor:
    """Sort once, cut, and invert the distribution function at points spread more evenly than random ones."""
    order = logits.argsort(dim=-1, descending=True)
    if temperature == 0:
        return order[:, 0]
    place = torch.arange(logits.size(-1))
    likely = (logits.gather(-1, order).double() / temperature).softmax(dim=-1)
    if top_k is not None:
        likely = likely * (place < top_k)
    likely = likely / likely.sum(dim=-1, keepdim=True)
    if top_p is not None:
        likely = likely * ((likely.cumsum(dim=-1) - likely < top_p) | (place == 0))
    reached = likely.cumsum(dim=-1) / likely.sum(dim=-1, keepdim=True)
    steps = torch.arange(len(logits), dtype=torch.double)[:, None] * (math.sqrt(5) - 1) / 2
    drawn = (torch.rand(1, generator=generator, dtype=torch.double) + steps) % 1  # evenly spread
    found = (drawn > reached).sum(dim=-1, keepdim=True).clamp(max=logits.size(-1) - 1)
    return order.gather(-1, found)[:, 0]
