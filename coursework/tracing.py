"""Records the tensors of one forward pass with forward hooks, and draws a model's graph with torchview."""

import importlib
import importlib.util
import shutil
from collections.abc import Sequence
from typing import Any, Final

import torch
from torch import Tensor, nn

from coursework.console import say

PAGE: Final = "9,12"  # inches, so that it fits beside the cells' numbers


def trace(model: Any, src: Tensor, fed: Tensor) -> dict[str, Tensor]:
    """Return the fourteen tensors of lesson 07 by name, in the order of its figure.

    Tensors inside a layer are those of the first layer. src: (B, S); fed: (B, T), the decoder's input.
    """
    below, above = model.encoder.layers[0], model.decoder.layers[0]
    watched = {
        "source vectors": model.encoder.position,
        "encoder attention": below.self_attention,
        "encoder hidden": below.feed_forward.linear1,
        "memory": model.encoder,
        "target vectors": model.decoder.position,
        "decoder attention": above.self_attention,
        "cross-attention": above.cross_attention,
        "decoder hidden": above.feed_forward.linear1,
    }
    seen: dict[str, Any] = {}

    def record(name: str) -> Any:
        return lambda _module, _arguments, result: seen.__setitem__(name, result)

    hooks = [module.register_forward_hook(record(name)) for name, module in watched.items()]
    was_training = model.training
    model.eval()
    try:
        with torch.no_grad():
            logits = model(src, fed)
    finally:
        for hook in hooks:
            hook.remove()
        model.train(was_training)
    output, weights = 0, 1  # what an attention returns
    return {
        "source ids": src,
        "source vectors": seen["source vectors"],
        "encoder: self-attention weights": seen["encoder attention"][weights],
        "encoder: self-attention output": seen["encoder attention"][output],
        "encoder: hidden features": seen["encoder hidden"],
        "memory": seen["memory"],
        "decoder input": fed,
        "target vectors": seen["target vectors"],
        "decoder: self-attention weights": seen["decoder attention"][weights],
        "decoder: cross-attention weights": seen["cross-attention"][weights],
        "decoder: cross-attention output": seen["cross-attention"][output],
        "decoder: hidden features": seen["decoder hidden"],
        "logits": logits,
        "probabilities": logits.softmax(dim=-1),
    }


def draw_model(model: nn.Module, inputs: Sequence[torch.Tensor]) -> Any:
    """Return a diagram for the notebook to show; print what is missing where there is none."""
    missing = [] if importlib.util.find_spec("torchview") else ["the package torchview"]
    if shutil.which("dot") is None:
        missing.append("graphviz (its program `dot`)")
    if missing:
        wanted = " and ".join(missing)
        say(f"No diagram here: it needs {wanted}. The numbered list above shows the same steps.")
        return None
    torchview = importlib.import_module("torchview")
    drawn = torchview.draw_graph(model, input_data=list(inputs), depth=2, device="cpu")
    drawn.visual_graph.graph_attr["size"] = PAGE
    return drawn.visual_graph
