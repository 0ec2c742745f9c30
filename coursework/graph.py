"""Draws a model's graph with torchview, where it and graphviz are at hand."""

import importlib
import importlib.util
import shutil
from collections.abc import Sequence
from typing import Any

import torch
from torch import nn


def draw_model(model: nn.Module, inputs: Sequence[torch.Tensor], depth: int = 2) -> Any:
    """Return a diagram for the notebook to show; print what is missing where there is none."""
    missing = [] if importlib.util.find_spec("torchview") else ["the package torchview"]
    if shutil.which("dot") is None:
        missing.append("graphviz (its program `dot`)")
    if missing:
        wanted = " and ".join(missing)
        print(f"No diagram here: {wanted} would have to be installed. The table above says it all.")
        return None
    torchview = importlib.import_module("torchview")
    return torchview.draw_graph(
        model, input_data=list(inputs), depth=depth, device="cpu"
    ).visual_graph
