"""Draws weights for the parts of a Transformer, by the attribute paths that the contract fixes.

Matrices are scaled by their width so that outputs keep a spread near 1; norms lie far from weight 1
and bias 0, so that a norm that ignores them is noticed. `path` is the part's own path, '' for none.
`init` holds the arguments of the part's constructor, as the contract orders them.
"""

from collections.abc import Sequence

import torch

from autograder.model.draw import Draw

Weights = dict[str, torch.Tensor]


def _at(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def norm(draw: Draw, path: str, d_model: int) -> Weights:
    """Return weight (D,) and bias (D,) of a layer norm."""
    return {
        _at(path, "weight"): 1.2 + draw.normal(d_model, scale=0.3),
        _at(path, "bias"): draw.normal(d_model, scale=0.5),
    }


def attention(draw: Draw, path: str, d_model: int) -> Weights:
    """Return the four projections of a MultiHeadAttention."""
    found: Weights = {}
    for name in ("w_q", "w_k", "w_v", "w_o"):
        found |= draw.linear(_at(path, name), d_model, d_model)
    return found


def feed_forward(draw: Draw, path: str, d_model: int, d_ff: int) -> Weights:
    """Return the two linear layers of a FeedForward."""
    first = draw.linear(_at(path, "linear1"), d_model, d_ff)
    return first | draw.linear(_at(path, "linear2"), d_ff, d_model)


def layer(draw: Draw, path: str, d_model: int, d_ff: int, *, cross: bool = False) -> Weights:
    """Return an encoder layer or causal decoder layer; with `cross`, a decoder layer."""
    found = attention(draw, _at(path, "self_attention"), d_model)
    if cross:
        found |= attention(draw, _at(path, "cross_attention"), d_model)
    found |= feed_forward(draw, _at(path, "feed_forward"), d_model, d_ff)
    for number in range(1, 4 if cross else 3):
        found |= norm(draw, _at(path, f"norm{number}"), d_model)
    return found


def encoder(draw: Draw, init: Sequence[int], path: str = "", *, cross: bool = False) -> Weights:
    """Return an embedding and layers; row 0 of the table, <pad>, is zero.

    `init` begins with vocab_size, d_model, num_layers, num_heads and d_ff. `cross` makes them
    decoder layers.
    """
    vocab_size, d_model, num_layers, _, d_ff = init[:5]
    table = draw.normal(vocab_size, d_model, scale=d_model**-0.5)
    table[0] = 0.0
    found = {_at(path, "embedding.embed.weight"): table}
    for number in range(num_layers):
        found |= layer(draw, _at(path, f"layers.{number}"), d_model, d_ff, cross=cross)
    return found


def decoder(draw: Draw, init: Sequence[int], path: str = "") -> Weights:
    """Return embedding, layers with cross-attention, and `project`; `init` as for `encoder`."""
    project = draw.linear(_at(path, "project"), init[1], init[0])
    return encoder(draw, init, path, cross=True) | project


def transformer(draw: Draw, init: Sequence[int]) -> Weights:
    """Return a Transformer; `init` begins with both vocabularies, d_model, heads, layers and d_ff."""
    source, target, d_model, heads, layers, d_ff = init[:6]
    common = (d_model, layers, heads, d_ff)
    return encoder(draw, (source, *common), "encoder") | decoder(draw, (target, *common), "decoder")


def language_model(draw: Draw, init: Sequence[int]) -> Weights:
    """Return embedding, causal layers, `norm` and `project`; `init` as for `encoder`."""
    tail = norm(draw, "norm", init[1]) | draw.linear("project", init[1], init[0])
    return encoder(draw, init) | tail


def zeroed(weights: Weights, *parts: str) -> Weights:
    """Return weights in which every path that holds one of the parts, such as "w_v.", is zero."""
    return {
        path: torch.zeros_like(value) if any(part in path for part in parts) else value
        for path, value in weights.items()
    }


def silenced(weights: Weights, *sublayers: str) -> Weights:
    """Return weights in which the named sublayers put out zeros, because their last layer is zero."""
    last = (f"{s}.{'linear2' if s.endswith('feed_forward') else 'w_o'}." for s in sublayers)
    return zeroed(weights, *last)


def decided(weights: Weights) -> Weights:
    """Return weights with which each hidden unit of a feed-forward is clearly on, or clearly off.

    A unit close to 0 would be on in one right answer and off in another, by rounding alone: their
    gradients would differ. Every second unit is off.
    """
    found = dict(weights)
    for path in (path for path in weights if path.endswith("linear1.weight")):
        units = torch.arange(len(weights[path]))
        found[path] = 0.2 * weights[path]
        found[path.replace("weight", "bias")] = torch.where(units % 2 == 0, 2.0, -2.0)
    return found


def last_layers(weights: Weights) -> list[str]:
    """Return the paths of the weights that decide what sublayers put out."""
    return [path for path in weights if ".w_o." in path or ".linear2." in path]
