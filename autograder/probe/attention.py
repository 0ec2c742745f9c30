"""Scenarios for attention that is looked at: maps of a model, heat maps, sentence pairs, spans."""

import itertools
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from autograder.probe.scenarios import (
    Inputs,
    Namespace,
    StructureError,
    add,
    kind_of,
    load,
    look_up,
)


def maps(namespace: Namespace, inputs: Inputs) -> Any:
    """Collect the maps of a Transformer with given weights, once per entry of `calls`.

    With `facts`, return what became of the model instead.
    """
    model = _model(inputs)
    collect = look_up(namespace, inputs["name"])
    before = {name: value.clone() for name, value in model.state_dict().items()}
    results = [_tensors_only(collect(model, *args)) for args in inputs["calls"]]
    if not inputs["facts"]:
        return results[0] if len(results) == 1 else results
    kept = _copy(results[-1])
    with torch.no_grad():
        model(*[torch.cat([ids, ids], dim=1) for ids in inputs["calls"][-1]])
    after = model.state_dict()
    same = before.keys() == after.keys()
    return {
        "hooks left": sum(len(hooks) for part in model.modules() for hooks in _hooks(part)),
        "train mode afterwards": model.training,
        "parts in another mode": sum(part.training != model.training for part in model.modules()),
        "weights unchanged": same
        and all(torch.equal(before[name], after[name]) for name in before),
        "trainable afterwards": all(weight.requires_grad for weight in model.parameters()),
        "changed later": not _equal(kept, results[-1]),
    }


def _tensors_only(found: Any) -> Any:
    """Return a dictionary of tensors, or of lists of them; StructureError for what cannot be compared."""
    for key, value in found.items() if isinstance(found, dict) else ():
        if not isinstance(value, (torch.Tensor, list, tuple)):
            raise StructureError(f"The map {key!r} should be a tensor, not {kind_of(value)}.")
    return found


def _model(inputs: Inputs) -> nn.Module:
    """Build the course's own Transformer, from parts handed in where `passed` is set."""
    from coursework.stand_ins_models import Decoder, Encoder, Transformer

    source, target, d_model, heads, layers, d_ff = inputs["init"]
    kwargs = dict(inputs["init_kwargs"])
    if inputs["passed"]:
        sizes = (d_model, layers, heads, d_ff, 64, kwargs.get("dropout", 0.1))
        kwargs |= {"encoder": Encoder(source, *sizes), "decoder": Decoder(target, *sizes)}
    model = Transformer(source, target, d_model, heads, layers, d_ff, 64, **kwargs)
    for path, value in inputs["weights"].items():
        load(model, path, value)
    model = model.double() if inputs["double"] else model
    return model.train(inputs["train"])


def _hooks(part: nn.Module) -> list[Any]:
    """Return what is registered on a module, and a `forward` put in the place of its own."""
    replaced = part.__dict__.get("forward")
    own = replaced is None or getattr(replaced, "__func__", None) is type(part).forward
    registered = (part._forward_hooks, part._forward_pre_hooks, part._backward_hooks)
    return [*registered, [] if own else [replaced]]


def _copy(found: Any) -> Any:
    if isinstance(found, dict):
        return {key: _copy(value) for key, value in found.items()}
    return found.clone() if isinstance(found, torch.Tensor) else found


def _equal(one: Any, other: Any) -> bool:
    if not (isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys()):
        return one is other
    pairs = [(one[key], other[key]) for key in one]
    return all(torch.equal(a, b) for a, b in pairs if isinstance(a, torch.Tensor))


def sentence_pair(namespace: Namespace, inputs: Inputs) -> Any:
    """Ask for the attentions of a pair of sentences, from a small BERT with drawn weights.

    `outside` says how the model is told to return them: not at all, or by its configuration.
    """
    from coursework.small_bert import SmallBert, SmallTokeniser

    tokeniser = SmallTokeniser(inputs["pieces"])
    model = SmallBert(len(tokeniser), **inputs["sizes"])
    generator = torch.Generator().manual_seed(inputs["weights_seed"])
    with torch.no_grad():
        for value in model.parameters():
            scale = 1.5 * value.size(-1) ** -0.5 if value.dim() > 1 else 0.3
            shift = 1.0 if value.dim() == 1 else 0.0
            value.copy_(shift + scale * torch.randn(value.shape, generator=generator))
    function = look_up(namespace, inputs["name"])
    found = [function(model, tokeniser, *args) for args in inputs["calls"]]
    found = [_numbered(one) for one in found]
    return found[0] if len(found) == 1 else found


def _numbered(found: Any) -> Any:
    """Return the triple with its start as a plain int where it equals one."""
    if not isinstance(found, (tuple, list)) or len(found) != 3:
        return found
    attentions, tokens, start = found
    if type(attentions).__name__ == "ndarray":
        raise StructureError("The attentions should be a tensor, not ndarray.")
    return attentions, tokens, whole_number(start)


def span(namespace: Namespace, inputs: Inputs) -> Any:
    """Call the function `name`, and return the pair that comes as plain ints where it equals them."""
    found = look_up(namespace, inputs["name"])(*inputs["args"], **inputs["kwargs"])
    if hasattr(found, "tolist") and getattr(found, "ndim", 0) == 1:
        found = tuple(found.tolist())
    if isinstance(found, (tuple, list)):
        return tuple(whole_number(place) for place in found)
    return found


def whole_number(value: Any) -> Any:
    """Return a plain int for what may be used as an index: an int of any kind, or a tensor of one."""
    if isinstance(value, (bool, float)):
        return value
    if isinstance(value, torch.Tensor):
        whole = value.numel() == 1 and value.dim() == 0 and not value.is_floating_point()
        return int(value) if whole else value
    try:
        return value.__index__()
    except AttributeError:
        return value


def picture(namespace: Namespace, inputs: Inputs) -> Any:
    """Let the function `name` draw, and describe the heat map as it stands on the page.

    `onto` says where: "own" hands over no axes; "second" the second of two, of which the first is
    the current one.
    """
    from matplotlib import pyplot as plt

    if plt.get_backend().lower() != "agg":
        plt.switch_backend("agg")
    plt.close("all")
    try:
        return _drawn(look_up(namespace, inputs["name"]), inputs, plt)
    finally:
        plt.close("all")


def _drawn(draw: Callable[..., Any], inputs: Inputs, plt: Any) -> Any:
    from matplotlib.axes import Axes

    given = None
    if inputs["onto"] == "second":
        _, (first, given) = plt.subplots(1, 2)
        plt.sca(first)
    returned = draw(*inputs["calls"][0], **({} if given is None else {"ax": given}))
    if not isinstance(returned, Axes):
        raise StructureError(
            f"The Axes that were drawn on should be returned, not {kind_of(returned)}."
        )
    found = _describe(returned)
    if given is not None:
        found |= {"on the axes given": returned is given, "elsewhere": first.has_data()}
    return found


def _describe(ax: Any) -> dict[str, Any]:
    """Read the cells and their labels off the page, top to bottom and left to right."""
    from matplotlib.collections import QuadMesh

    meshes = [part for part in ax.collections if isinstance(part, QuadMesh)]
    if not meshes:
        raise StructureError(
            "There is no heat map on the Axes that came back: sns.heatmap(…, ax=ax) draws one."
        )
    mesh = meshes[-1]
    corners = torch.as_tensor(mesh.get_coordinates())  # (R + 1, C + 1, 2)
    cells = _cells(mesh).reshape(corners.size(0) - 1, corners.size(1) - 1)
    rows = _labels(corners[:, 0, 1].tolist(), ax.yaxis)
    columns = _labels(corners[0, :, 0].tolist(), ax.xaxis)
    if bool(corners[-1, 0, 1] > corners[0, 0, 1]) != ax.yaxis_inverted():  # the first is below
        cells, rows = cells.flip(0), rows[::-1]
    if bool(corners[0, -1, 0] > corners[0, 0, 0]) == ax.xaxis_inverted():  # the first is right
        cells, columns = cells.flip(1), columns[::-1]
    scale = [round(float(end), 4) for end in mesh.get_clim()]
    return {"cells": cells, "rows": rows, "columns": columns, "scale": scale}


def _cells(mesh: Any) -> torch.Tensor:
    """Return the numbers behind the colours, NaN where a cell is left blank."""
    from numpy import ma

    return torch.as_tensor(ma.filled(mesh.get_array().astype("float64"), float("nan"))).float()


def _labels(edges: list[float], axis: Any) -> list[str]:
    """Return what is written beside each cell, "" where nothing is."""
    written = [""] * (len(edges) - 1)
    for tick in axis.get_major_ticks():
        shown = [label.get_text() for label in (tick.label1, tick.label2) if label.get_visible()]
        text = next(filter(None, shown), "")
        for cell, ends in enumerate(itertools.pairwise(edges)):
            if min(ends) < tick.get_loc() < max(ends) and text:
                written[cell] = text
    return written


add({"maps": maps, "sentence_pair": sentence_pair, "span": span, "picture": picture})
