"""Weights that the judge draws for the parts of a decoder, and masks for its batches."""

from collections.abc import Sequence

import torch

from autograder.judge.draw import Draw

Weights = dict[str, torch.Tensor]
ATTENTIONS = ("self_attention", "cross_attention")


def norm(draw: Draw, name: str, d_model: int) -> Weights:
    """Return weight and bias of a norm, far from 1 and 0."""
    return {
        f"{name}.weight": 1 + draw.normal(d_model, scale=0.3),
        f"{name}.bias": draw.normal(d_model, scale=0.5),
    }


def attention(draw: Draw, name: str, d_model: int) -> Weights:
    """Return the weights of a MultiHeadAttention."""
    made: Weights = {}
    for part in ("w_q", "w_k", "w_v", "w_o"):
        made |= draw.linear(f"{name}.{part}", d_model, d_model)
    return made


def feed_forward(draw: Draw, d_model: int, d_ff: int) -> Weights:
    """Return the weights of a FeedForward."""
    return draw.linear("feed_forward.linear1", d_model, d_ff) | draw.linear(
        "feed_forward.linear2", d_ff, d_model
    )


def layer(draw: Draw, d_model: int, d_ff: int) -> Weights:
    """Return the weights of a DecoderLayer."""
    made = feed_forward(draw, d_model, d_ff)
    for name in ATTENTIONS:
        made |= attention(draw, name, d_model)
    for name in ("norm1", "norm2", "norm3"):
        made |= norm(draw, name, d_model)
    return made


def block(draw: Draw, d_model: int, d_ff: int) -> Weights:
    """Return the weights of a CausalDecoderLayer."""
    made = feed_forward(draw, d_model, d_ff) | attention(draw, "self_attention", d_model)
    return made | norm(draw, "norm1", d_model) | norm(draw, "norm2", d_model)


def stack(draw: Draw, vocab_size: int, d_model: int, num_layers: int, d_ff: int) -> Weights:
    """Return the weights of a Decoder, every layer's its own; the embedding's small, as √D scales it."""
    made = {"embedding.embed.weight": draw.normal(vocab_size, d_model, scale=d_model**-0.5)}
    for index in range(num_layers):
        made |= {
            f"layers.{index}.{path}": value for path, value in layer(draw, d_model, d_ff).items()
        }
    return made | draw.linear("project", d_model, vocab_size)


def silenced(weights: Weights, *parts: str) -> Weights:
    """Return weights in which the named parts put out zeros: their last layer's are 0."""
    last = [f"{part}.{'linear2' if part.endswith('feed_forward') else 'w_o'}." for part in parts]
    return {
        path: torch.zeros_like(value) if path.startswith(tuple(last)) else value
        for path, value in weights.items()
    }


def last_layers(weights: Weights) -> list[str]:
    """Return the paths of all weights that decide what sub-layers put out."""
    return [path for path in weights if ".w_o." in path or ".linear2." in path]


def causal(length: int) -> torch.Tensor:
    """Return a causal mask (T, T)."""
    return torch.ones(length, length, dtype=torch.bool).tril()


def real(lengths: Sequence[int], longest: int) -> torch.Tensor:
    """Return a padding mask (B, 1, longest) for samples of these lengths."""
    return (torch.arange(longest) < torch.tensor(lengths)[:, None]).unsqueeze(1)
