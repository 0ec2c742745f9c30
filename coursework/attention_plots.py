"""Live figures of lesson 8: maps side by side, one number for each head, spans, and ablations."""

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Final

import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from coursework.plots import ACCENT, KEY, MUTED, QUERY, VALUE, WRONG, frame, heatmap, panel, panels

Draw = Callable[..., Axes]
KINDS: Final = {"encoder": (KEY, "o"), "decoder": (QUERY, "s"), "cross": (WRONG, "^")}


def scales(maps: Mapping[str, Tensor]) -> Figure:
    """Draw each map (R, C) twice: on a colour scale of its own, and on the scale from 0 to 1."""
    figure, rows = panels(2, len(maps), 4.2 * len(maps), 4.8)
    for axes, title in zip(rows, ("a scale of its own", "the scale from 0 to 1"), strict=True):
        for ax, (name, matrix) in zip(axes, maps.items(), strict=True):
            own = axes is rows[0]
            limits = (float(matrix.min()), float(matrix.max())) if own else (0.0, 1.0)
            drawn = ax.imshow(matrix.numpy(), cmap="Blues", vmin=limits[0], vmax=limits[1])
            ax.set(xticks=[], yticks=[])
            ax.set_title(f"{name},\n{title}")
            figure.colorbar(drawn, ax=ax, shrink=0.8)
    return figure


def grid(maps: Tensor, queries: Sequence[str], keys: Sequence[str], *, draw: Draw, title: str = "") -> Figure:
    """Draw maps (L, H, Tq, Tk): layers down, heads across, each by `draw(weights, queries, keys, ax=ax)`.

    The maps of a row share the labels on the left, and those of a column the labels below.
    """
    layers, heads = maps.shape[:2]
    size = (1.1 + heads * (0.4 + 0.36 * len(keys)), 1.6 + layers * (0.45 + 0.23 * len(queries)))
    figure, axes = panels(layers, heads, *size)
    for layer, head in product(range(layers), range(heads)):
        ax = axes[layer][head]
        draw(maps[layer, head], list(queries), list(keys), ax=ax)
        ax.tick_params(labelleft=head == 0, labelbottom=layer == layers - 1)
        ax.set_title(f"layer {layer}, head {head}")
    figure.suptitle(title)
    return figure


def scores(matrix: Tensor, title: str) -> Axes:
    """Draw one score for each head (L, H): layers down, heads across, with numbers."""
    layers, heads = matrix.shape
    ax = panel(2.2 + 0.8 * heads, 1.6 + 0.44 * layers)
    names = ([f"layer {place}" for place in range(layers)], [f"{place}" for place in range(heads)])
    heatmap(matrix, *names, title=title, ax=ax)
    ax.tick_params(axis="x", rotation=0)
    ax.set_xlabel("head")
    frame(ax, torch.arange(matrix.numel()).view_as(matrix) == matrix.argmax())
    return ax


def by_layer(matrix: Tensor, what: str, *, limit: float | None = None, name: str = "") -> Axes:
    """Draw a number for each head (L, H) as a dot over its layer; `limit` is a dotted line."""
    figure, ((ax,),) = panels(1, 1, 6.1, 3.8)  # two fit side by side on a slide
    for layer, heads in enumerate(matrix.detach().tolist()):
        ax.scatter([layer] * len(heads), heads, s=90, color=QUERY, alpha=0.55, edgecolor="white")
    means = matrix.detach().mean(dim=-1).tolist()
    ax.plot(range(len(means)), means, color=WRONG, lw=2.5, label="mean of the layer")
    if limit is not None:
        ax.axhline(limit, color=MUTED, ls=":", lw=2, label=name)
    ax.set(xlabel="layer", ylabel=what, xticks=range(len(means)), ylim=(0, None))
    figure.legend(loc="outside upper right", ncols=2, frameon=False)
    return ax


def span(tokens: Sequence[str], starts: Tensor, ends: Tensor, picked: tuple[int, int], about: str) -> Figure:
    """Draw start and end logits (S,) around the span that was picked, which is shaded."""
    first, last = picked
    low, high = max(0, first - 8), min(len(tokens), last + 9)
    figure, ((ax,),) = panels(1, 1, max(9.0, 0.5 * (high - low)), 4.6)
    places = range(low, high)
    for logits, colour, name in ((starts, VALUE, "starts here"), (ends, ACCENT, "ends here")):
        marker = ">" if logits is starts else "<"
        shown = logits[low:high].tolist()
        ax.plot(places, shown, marker=marker, ms=9, lw=1.5, color=colour, label=name)
    ax.axvspan(first - 0.5, last + 0.5, color=KEY, alpha=0.22)
    ax.set_xticks(list(places), list(tokens[low:high]), rotation=60, ha="right")
    ax.set_ylabel(about)
    figure.legend(loc="outside upper right", ncols=2, frameon=False)
    return figure


def ablation(rows: Sequence[tuple[str, float, float]], whole: float) -> Axes:
    """Draw heads by entropy (across) and accuracy without them (up); rows: kind, entropy, accuracy."""
    figure, ((ax,),) = panels(1, 1, 8.4, 4.6)
    for kind, (colour, marker) in KINDS.items():
        points = [(entropy, accuracy) for name, entropy, accuracy in rows if name == kind]
        x, y = zip(*points, strict=True)
        ax.scatter(x, y, s=130, color=colour, marker=marker, alpha=0.8, label=kind)
    ax.axhline(whole, color=MUTED, ls=":", lw=2, label="whole model")
    ax.set(xlabel="mean entropy of the head (nats)", ylabel="spelt out exactly without it")
    lowest = min(accuracy for _, _, accuracy in rows)
    ax.set_ylim(max(-0.02, lowest - 0.08), 1.03)
    figure.legend(loc="outside upper center", ncols=4, frameon=False)
    return ax
