"""Trains the small BERT that stands in where no pretrained one is at hand, in some seconds.

It learns two things that heads of real BERTs are known to do (Clark et al. 2019, arXiv:1906.04341,
sections 3.1 and 4): to name the token before each token, and, for a word that occurs in both
sentences, the place where it stands in the other one.
"""

from typing import Final

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from coursework.small_bert import CLS, SEP, SmallBert, SmallTokeniser

WORDS: Final = (
    "the a cat sat on mat lay rug dog ran over old bridge was and not my sister plays piano belongs to it "
    "in under house sun red small big walked boat river green tree bird sang slept chair table"
)
STEPS: Final = 700
BATCH: Final = 48


def trained_pair() -> tuple[SmallBert, SmallTokeniser]:
    """Return a small model, trained from a fixed seed, and its tokeniser."""
    tokeniser = SmallTokeniser(WORDS.split())
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = SmallBert(len(tokeniser), d_model=64, num_heads=4, num_layers=2, max_len=64)
        _train(model, len(tokeniser))
    return model.eval(), tokeniser


def _train(model: SmallBert, vocabulary: int) -> None:
    """Learn both tasks at once, from word salad: only attention can solve them."""
    heads = nn.ModuleList(nn.Linear(64, classes) for classes in (vocabulary, 64))
    weights = [*model.parameters(), *heads.parameters()]
    adam = torch.optim.Adam(weights, lr=2e-3)
    for step in range(STEPS):
        for group in adam.param_groups:
            group["lr"] = 2e-3 * min((step + 1) / 50, 1 - step / STEPS)
        ids, segments, before, counterpart = _batch(vocabulary)
        states = model(ids, token_type_ids=segments).last_hidden_state  # (B, S, D)
        losses = [
            F.cross_entropy(head(states).transpose(1, 2), target, ignore_index=-1)
            for head, target in zip(heads, (before, counterpart), strict=True)
        ]
        adam.zero_grad()
        torch.autograd.backward(torch.stack(losses).sum())
        adam.step()


def _batch(vocabulary: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return ids, segments, the token before each, and the place of its counterpart, −1 if none."""
    first, second = (int(size) for size in torch.randint(3, 9, (2,)))
    words = torch.stack([torch.randperm(vocabulary - 5)[: first + second] for _ in range(BATCH)]) + 5
    a, b = words[:, :first], words[:, first:]
    shared = min(first, second) * 2 // 3
    for row in range(BATCH):
        b[row, torch.randperm(second)[:shared]] = a[row, torch.randperm(first)[:shared]]
    column = torch.full((BATCH, 1), SEP)
    ids = torch.cat([torch.full_like(column, CLS), a, column, b, column], dim=1)  # (B, S)
    segments = (torch.arange(ids.size(1)) >= first + 2).long().expand_as(ids)
    before = ids.roll(1, dims=1).index_fill(1, torch.tensor(0), -1)
    same = (ids[:, :, None] == ids[:, None]) & (segments[:, :, None] != segments[:, None])
    same &= (ids > SEP)[:, :, None]
    counterpart = torch.where(same, torch.arange(ids.size(1)), -1).amax(dim=-1)
    return ids, segments, before, counterpart
