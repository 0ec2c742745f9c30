"""Copies of a Transformer in which some heads add nothing, to see what depends on them."""

import copy
from collections.abc import Iterable, Iterator
from typing import Any, Final

KINDS: Final = {
    "encoder": ("encoder", "self_attention"),
    "decoder": ("decoder", "self_attention"),
    "cross": ("decoder", "cross_attention"),
}


def layers(model: Any) -> Iterator[tuple[str, int]]:
    """Yield the kind and the layer of each attention of a Transformer."""
    for kind, (side, _) in KINDS.items():
        for layer in range(len(getattr(model, side).layers)):
            yield kind, layer


def heads(model: Any) -> Iterator[tuple[str, int, int]]:
    """Yield kind, layer and head for every head of a Transformer."""
    for kind, layer in layers(model):
        for head in range(_attention(model, kind, layer).num_heads):
            yield kind, layer, head


def without(model: Any, kind: str, layer: int, silenced: Iterable[int]) -> Any:
    """Return a copy of a Transformer in which these heads of one attention add nothing."""
    other = copy.deepcopy(model)
    attention = _attention(other, kind, layer)
    w_o = attention.w_o.weight  # (D, D): a column for each feature of a head
    by_head = w_o.detach().unflatten(1, (attention.num_heads, -1)).clone()  # (D, H, K)
    by_head[:, list(silenced)] = 0.0
    w_o.data = by_head.flatten(1)
    return other


def _attention(model: Any, kind: str, layer: int) -> Any:
    side, name = KINDS[kind]
    return getattr(getattr(model, side).layers[layer], name)
