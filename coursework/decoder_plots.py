"""Live figures of lesson 6: which outputs move when a token is changed."""

from collections.abc import Mapping, Sequence
from typing import Final

import torch
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from torch import Tensor

from coursework.plots import WRONG, heatmap

STILL: Final = 1e-4  # less than this is rounding


def movements(
    maps: Mapping[str, tuple[Tensor, Tensor]], rows: Sequence[Sequence[str]], columns: Sequence[str]
) -> Figure:
    """Draw how far outputs (columns) move when a token (row) is changed, on one colour scale.

    `maps` holds, by title, the distances (R, C) and where an output should move, a BoolTensor (R, C).
    A solid frame marks what moved and should not, a dashed one what should have moved and did not.
    """
    width = len(maps) * (1.7 + 0.66 * len(columns))
    figure: Figure = plt.figure(figsize=(width, 2.2 + 0.55 * len(rows[0])))
    top = max(STILL, *(float(moved.max()) for moved, _ in maps.values()))
    for place, (title, (moved, right)) in enumerate(maps.items(), start=1):
        ax = figure.add_subplot(1, len(maps), place)
        heatmap(moved, rows[place - 1], columns, title=title, limits=(0.0, top), ax=ax)
        ax.set_xlabel("output")
        ax.set_ylabel("changed token")
        _frame(ax, (moved > STILL) & ~right, "solid")
        _frame(ax, (moved <= STILL) & right, "dashed")
    return figure


def _frame(ax: Axes, cells: Tensor, style: str) -> None:
    """Frame the cells (R, C) that are True."""
    for row, column in torch.nonzero(cells).tolist():
        corner = (column - 0.44, row - 0.42)
        frame = Rectangle(corner, 0.88, 0.84, fill=False, ec=WRONG, lw=3, ls=style)
        ax.add_patch(frame)
