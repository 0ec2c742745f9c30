"""Masks and padded batches for inputs. True means that a query may attend to a key."""

from collections.abc import Sequence

import torch

from autograder.model.draw import Draw
from coursework.engine.describe import Comparison


def causal(length: int) -> torch.Tensor:
    """Return a causal mask (T, T)."""
    return torch.ones(length, length, dtype=torch.bool).tril()


def padding(lengths: Sequence[int], longest: int = 0) -> torch.Tensor:
    """Return a padding mask (B, 1, S) for samples of these lengths; S is the longest by default."""
    size = longest or max(lengths)
    return (torch.arange(size) < torch.tensor([*lengths])[:, None]).unsqueeze(1)


def target(lengths: Sequence[int]) -> torch.Tensor:
    """Return the mask (B, T, T) of targets of these lengths: causal, with padding hidden."""
    return causal(max(lengths)) & padding(lengths)


def padded_ids(
    draw: Draw, vocab_size: int, lengths: Sequence[int], longest: int = 0, low: int = 4
) -> torch.Tensor:
    """Return random ids (B, S) from `low` up, no specials among them, with <pad> (0) after each end."""
    real = padding(lengths, longest)[:, 0]
    return draw.integers(low, vocab_size, *real.shape).masked_fill(~real, 0)


def at(position: int | slice) -> tuple[slice, int | slice]:
    """Return the index of a position in every sample."""
    return (slice(None), position)


def about_mask(seen: Comparison) -> str | None:
    """Say what a mask (…, T_q, T_k) lets a query do, or keeps it from doing."""
    got = seen.got.value
    *sample, query, key = (got != seen.expected.value).nonzero()[0].tolist()
    where = f"In sample {sample[0]}, your" if sample else "Your"
    who = "every query" if got.size(-2) < got.size(-1) else f"query {query}"
    if got[(*sample, query, key)]:
        return f"{where} mask lets {who} attend to key {key}, which should be hidden."
    return f"{where} mask hides key {key} from {who}, which should be able to attend to it."
