"""Copies of a Transformer in which some heads give their mean output only, to see what depends on them."""

import copy
from collections.abc import Iterable, Iterator
from typing import Any, Final

import torch
from torch import Tensor

KINDS: Final = {
    "encoder": ("encoder", "self_attention"),
    "decoder": ("decoder", "self_attention"),
    "cross": ("decoder", "cross_attention"),
}
Means = dict[tuple[str, int], Tensor]


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


@torch.no_grad()
def mean_outputs(model: Any, src: Tensor, tgt: Tensor) -> Means:
    """Return the mean over a batch of what the heads of each attention put out, side by side: (D,).

    src: (B, S); tgt: (B, T), the decoder's input. Positions of padding are left out.
    """
    entering: dict[tuple[str, int], Tensor] = {}

    def listen(place: tuple[str, int]) -> Any:
        return lambda _module, arguments: entering.__setitem__(place, arguments[0])  # (B, Tq, D)

    hooks = [
        _attention(model, *place).w_o.register_forward_pre_hook(listen(place)) for place in layers(model)
    ]
    try:
        model(src, tgt)
    finally:
        for hook in hooks:
            hook.remove()
    real = {"encoder": src != model.pad_id, "decoder": tgt != model.pad_id, "cross": tgt != model.pad_id}
    return {(kind, layer): x[real[kind]].mean(dim=0) for (kind, layer), x in entering.items()}


@torch.no_grad()
def without(model: Any, kind: str, layer: int, silenced: Iterable[int], means: Means) -> Any:
    """Return a copy of a Transformer in which these heads of one attention give their mean at every position.

    The columns of `w_o` that read a silenced head become 0; what they make of its mean goes into the bias.
    """
    other = copy.deepcopy(model)
    attention = _attention(other, kind, layer)
    chosen = torch.zeros(attention.num_heads, dtype=torch.bool)
    chosen[list(silenced)] = True
    w_o = attention.w_o  # Linear(D, D): its weight has a column for each feature of a head
    columns = chosen.repeat_interleave(w_o.in_features // attention.num_heads)  # (D,)
    w_o.bias += w_o.weight[:, columns] @ means[kind, layer][columns]
    w_o.weight[:, columns] = 0.0
    return other


def _attention(model: Any, kind: str, layer: int) -> Any:
    side, name = KINDS[kind]
    return getattr(getattr(model, side).layers[layer], name)
