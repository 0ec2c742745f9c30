"""Finds layers that a module keeps in a plain list, where PyTorch does not see them."""

import contextlib
import io
from typing import Any

import torch
from torch import nn

from coursework.engine.operation import Operation
from coursework.engine.operations import ModuleOperation

TITLE = (
    "`{name}` is a plain {kind}, so PyTorch doesn't see the layers in it: they are not trained, saved or "
    "switched to eval mode."
)
HINT = "`nn.ModuleList` is used like a list, and registers its layers."


def unregistered(operation: Operation, answer: Any) -> str:
    """Return what to say of an attribute of a module that is a plain list of layers, "" if there is none."""
    if not isinstance(operation, ModuleOperation):
        return ""
    quiet = contextlib.redirect_stdout(io.StringIO())
    with contextlib.suppress(Exception), torch.random.fork_rng([]), quiet:
        built = answer(*operation.init, **operation.init_kwargs)
        lists = {name: value for name, value in vars(built).items() if isinstance(value, (list, tuple))}
        layers = {name: {each for each in lists[name] if isinstance(each, nn.Module)} for name in lists}
        unseen = [name for name in lists if layers[name] - set(built.modules())]
        return TITLE.format(name=unseen[0], kind=type(lists[unseen[0]]).__name__)
    return ""
