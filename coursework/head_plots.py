"""Live figures of lesson 4: features by head, and who sees whom. Heads are blue, then vermilion."""

from collections.abc import Mapping, Sequence
from typing import Final

import torch
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from coursework.plots import ACCENT, KEY, QUERY, VALUE, WRONG, heatmap

HEADS: Final = (QUERY, WRONG, VALUE, KEY, ACCENT)


def by_head(
    matrices: Mapping[str, Tensor],
    rows: Sequence[str],
    *,
    num_heads: int,
    limits: tuple[float, float] = (0.0, 1.0),
) -> Figure:
    """Draw matrices (S, D) side by side, with a bracket over the features of each head."""
    shapes = [matrix.shape for matrix in matrices.values()]
    width = sum(1.3 + 0.62 * columns for _, columns in shapes)
    figure: Figure = plt.figure(figsize=(width, 2.0 + 0.55 * len(rows)))
    for place, (name, matrix) in enumerate(matrices.items(), start=1):
        ax = figure.add_subplot(1, len(matrices), place)
        heatmap(matrix, rows, [""] * matrix.size(1), limits=limits, ax=ax)
        ax.set_title(name, pad=42)
        _bracket_heads(ax, matrix.size(1), num_heads)
    return figure


def leaks(maps: Mapping[str, Tensor], tokens: Sequence[str]) -> Figure:
    """Draw how outputs (rows) depend on tokens (columns), two to a line; what leaks is framed."""
    lines = -(-len(maps) // 2)
    size = (2 * (1.7 + 0.75 * len(tokens)), lines * (1.7 + 0.55 * len(tokens)))
    figure: Figure = plt.figure(figsize=size)
    top = max(float(matrix.max()) for matrix in maps.values())
    for place, (name, matrix) in enumerate(maps.items(), start=1):
        ax = figure.add_subplot(lines, 2, place)
        heatmap(matrix, tokens, tokens, title=name, limits=(0.0, top), ax=ax)
        _frame(ax, matrix.triu(diagonal=1) > 1e-6)  # more than rounding
    return figure


def _bracket_heads(ax: Axes, features: int, num_heads: int) -> None:
    """Write the name of each head over its columns, with a line as wide as they are."""
    width = features // num_heads
    for head in range(num_heads):
        colour = HEADS[head % len(HEADS)]
        left, right = head * width - 0.42, (head + 1) * width - 0.58
        ax.plot([left, right], [-0.68, -0.68], color=colour, lw=4, clip_on=False)
        middle = (left + right) / 2
        ax.text(middle, -0.86, f"head {head + 1}", color=colour, ha="center", va="bottom", weight="bold")
        if head:
            ax.axvline(head * width - 0.5, color="black", lw=2)
    ax.set_ylim(ax.get_ylim()[0], -0.5)


def _frame(ax: Axes, where: Tensor) -> None:
    """Put a frame around the cells that are True."""
    for row, column in torch.nonzero(where).tolist():
        frame = plt.Rectangle((column - 0.46, row - 0.44), 0.92, 0.88, fill=False, ec=WRONG, lw=3)
        ax.add_patch(frame)
