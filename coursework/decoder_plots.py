"""Live figures of lesson 6: which outputs move when a token is changed."""

from collections.abc import Mapping, Sequence
from typing import Final

from matplotlib.figure import Figure
from torch import Tensor

from coursework.plots import ROW, frame, heatmap, panels

STILL: Final = 1e-4  # less than this is rounding


def movements(
    maps: Mapping[str, tuple[Tensor, Tensor]], rows: Sequence[Sequence[str]], columns: Sequence[str]
) -> Figure:
    """Draw how far outputs (columns) move when a token (row) is changed, on one colour scale.

    `maps` holds, by title, the distances (R, C) and where an output should move, a BoolTensor (R, C).
    A solid frame marks what moved and should not, a dashed one what should have moved and did not.
    """
    width = len(maps) * (1.2 + 0.56 * len(columns))
    figure, (axes,) = panels(1, len(maps), width, 2.2 + ROW * len(rows[0]))
    top = max(STILL, *(float(moved.max()) for moved, _ in maps.values()))
    for ax, names, (title, (moved, right)) in zip(axes, rows, maps.items(), strict=False):
        heatmap(moved, names, columns, title=title, limits=(0.0, top), ax=ax)
        ax.set(xlabel="output", ylabel="changed token")
        frame(ax, (moved > STILL) & ~right, size=(0.88, 0.84))
        frame(ax, (moved <= STILL) & right, size=(0.88, 0.84), style="dashed")
    return figure
