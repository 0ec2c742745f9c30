"""Draws a model's graph with torchview, where it and graphviz are at hand."""

import importlib
import importlib.util
import shutil
from collections.abc import Sequence
from typing import Any, Final

import torch
from torch import nn

PAGE: Final = "9,12"  # inches, so that it fits beside the cells' numbers


def draw_model(model: nn.Module, inputs: Sequence[torch.Tensor], depth: int = 2) -> Any:
    """Return a diagram for the notebook to show; print what is missing where there is none."""
    missing = [] if importlib.util.find_spec("torchview") else ["the package torchview"]
    if shutil.which("dot") is None:
        missing.append("graphviz (its program `dot`)")
    if missing:
        wanted = " and ".join(missing)
        print(f"No diagram here: it needs {wanted}. The numbered list above shows the same steps.")
        return None
    torchview = importlib.import_module("torchview")
    drawn = torchview.draw_graph(model, input_data=list(inputs), depth=depth, device="cpu")
    drawn.visual_graph.graph_attr["size"] = PAGE
    return drawn.visual_graph
