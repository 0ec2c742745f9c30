"""Weights of whole stacks, drawn by the judge and loaded by attribute path."""

import torch

from autograder.judge.draw import Draw

Weights = dict[str, torch.Tensor]
PROJECTIONS = ("w_q", "w_k", "w_v", "w_o")


def attention(draw: Draw, path: str, d_model: int) -> Weights:
    """Return the weights of the attention at `path`."""
    layers = [draw.linear(f"{path}.{name}", d_model, d_model) for name in PROJECTIONS]
    return {key: value for layer in layers for key, value in layer.items()}


def norm(draw: Draw, path: str, d_model: int) -> Weights:
    """Return weight and bias of the norm at `path`, neither of them 1 and 0."""
    return {
        f"{path}.weight": 1 + draw.normal(d_model, scale=0.3),
        f"{path}.bias": draw.normal(d_model, scale=0.3),
    }


def layer(draw: Draw, path: str, d_model: int, d_ff: int, *, cross: bool = False) -> Weights:
    """Return the weights of one layer, with cross-attention and a third norm where `cross` is set."""
    found = attention(draw, f"{path}.self_attention", d_model)
    if cross:
        found |= attention(draw, f"{path}.cross_attention", d_model)
    found |= draw.linear(f"{path}.feed_forward.linear1", d_model, d_ff)
    found |= draw.linear(f"{path}.feed_forward.linear2", d_ff, d_model)
    for number in range(1, 4 if cross else 3):
        found |= norm(draw, f"{path}.norm{number}", d_model)
    return found


def stack(
    draw: Draw, prefix: str, sizes: tuple[int, int, int, int], *, cross: bool = False
) -> Weights:
    """Return embedding and layers; sizes are vocabulary, d_model, number of layers, d_ff."""
    vocabulary, d_model, num_layers, d_ff = sizes
    found = {
        f"{prefix}embedding.embed.weight": draw.normal(vocabulary, d_model, scale=d_model**-0.5)
    }
    for number in range(num_layers):
        found |= layer(draw, f"{prefix}layers.{number}", d_model, d_ff, cross=cross)
    return found


def transformer(  # noqa: PLR0917 - sizes in the order of the constructor
    draw: Draw, source: int, target: int, d_model: int = 8, num_layers: int = 2, d_ff: int = 12
) -> Weights:
    """Return the weights of a whole Transformer."""
    found = stack(draw, "encoder.", (source, d_model, num_layers, d_ff))
    found |= stack(draw, "decoder.", (target, d_model, num_layers, d_ff), cross=True)
    return found | draw.linear("decoder.project", d_model, target)


def language_model(
    draw: Draw, vocabulary: int, d_model: int = 8, num_layers: int = 2, d_ff: int = 12
) -> Weights:
    """Return the weights of a language model."""
    found = stack(draw, "", (vocabulary, d_model, num_layers, d_ff))
    return found | norm(draw, "norm", d_model) | draw.linear("project", d_model, vocabulary)
