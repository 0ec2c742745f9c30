"""Live figures of lesson 4: features by head, who sees whom, and all heads of a layer.

Heads are sky blue, then purple, so that queries, keys and values keep their own colours.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from coursework.plots import ACCENT, KEY, MUTED, VALUE, frame, heatmap, panels

HEADS: Final = ("#56B4E9", ACCENT, VALUE, KEY, MUTED)


def by_head(
    matrices: Mapping[str, Tensor],
    rows: Sequence[str],
    *,
    num_heads: int,
    limits: tuple[float, float] = (0.0, 1.0),
    columns: Mapping[str, Sequence[str]] | None = None,
) -> Figure:
    """Draw matrices (S, D) side by side, with a bracket over the features of each head.

    `columns` names the features of a matrix; the names are written below it. The rows are named on the left.
    """
    width = 1.1 + sum(0.2 + 0.59 * matrix.size(1) for matrix in matrices.values())
    below = 0.8 if columns else 0.0
    figure, (axes,) = panels(1, len(matrices), width, 2.0 + below + 0.4 * len(rows))
    for ax, (name, matrix) in zip(axes, matrices.items(), strict=True):
        heatmap(matrix, rows, [""] * matrix.size(1), limits=limits, ax=ax)
        for number in ax.texts:
            number.set_text(number.get_text().removesuffix(".00"))  # a narrow cell has no room for "10.00"
        ax.tick_params(labelleft=ax is axes[0])
        ax.set_title(name, pad=42)
        _bracket_heads(ax, matrix.size(1), num_heads)
        if columns is not None:
            names = columns[name]
            ax.set_xticks(range(len(names)), names, rotation=50, ha="right", rotation_mode="anchor")
            ax.tick_params(labeltop=False, labelbottom=True)
    return figure


def leaks(maps: Mapping[str, Tensor], tokens: Sequence[str]) -> Figure:
    """Draw how outputs (rows) depend on tokens (columns), two to a line; what leaks is framed."""
    lines = -(-len(maps) // 2)
    size = (2 * (1.7 + 0.75 * len(tokens)), lines * (1.3 + 0.34 * len(tokens)))
    figure: Figure = plt.figure(figsize=size)
    figure.set_layout_engine("constrained", h_pad=0.15)  # a title stands nearer to its own panel
    top = max(float(matrix.max()) for matrix in maps.values())
    for place, (name, matrix) in enumerate(maps.items(), start=1):
        ax = figure.add_subplot(lines, 2, place)
        heatmap(matrix, tokens, tokens, title=name, limits=(0.0, top), ax=ax)
        frame(ax, matrix.triu(diagonal=1) > 1e-6)  # more than rounding
    return figure


def gallery(weights: Tensor, tokens: Sequence[str]) -> Figure:
    """Draw the weights (H, S, S) of all heads of a layer, small and without numbers, six to a row."""
    lines = -(-len(weights) // 6)
    figure: Figure = plt.figure(figsize=(12.0, 2.2 * lines))
    for head, matrix in enumerate(weights):
        ax = figure.add_subplot(lines, 6, head + 1)
        ax.imshow(matrix.detach().numpy(), cmap="Blues", vmin=0, vmax=1)
        ax.set_title(f"head {head}")
        ax.set_xticks([])
        ax.set_yticks([] if head % 6 else range(len(tokens)), [] if head % 6 else tokens)
        ax.tick_params(length=0)
    return figure


def _bracket_heads(ax: Axes, features: int, num_heads: int) -> None:
    """Write the name of each head over its columns, with a line as wide as they are."""
    width = features // num_heads
    for head in range(num_heads):
        colour = HEADS[head % len(HEADS)]
        left, right = head * width - 0.42, (head + 1) * width - 0.58
        ax.plot([left, right], [-0.68, -0.68], color=colour, lw=4, clip_on=False)
        middle = (left + right) / 2
        ax.text(middle, -0.86, f"head {head}", color=colour, ha="center", va="bottom", weight="bold")
        if head:
            ax.axvline(head * width - 0.5, color=MUTED, lw=2)
    ax.set_ylim(ax.get_ylim()[0], -0.5)
