"""Live figures of lesson 5: curves over depth and over training steps."""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Final

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from coursework.plots import QUERY, WRONG, panels

ROUNDING: Final = 1e-7


def lines(
    x: Sequence[float], named: Mapping[str, Sequence[float]], *, labels: tuple[str, str], log: bool = False
) -> Axes:
    """Draw one line per name over `x`; `labels` name the axes.

    Lines with "without" in their name are orange, the others blue. The second half of four or
    more lines is dashed, and so many have their legend above. `log` makes the vertical axis logarithmic.
    """
    many = len(named) > 2
    figure, ((ax,),) = panels(1, 1, 7.6, 4.5 if many else 3.9)
    for index, (name, y) in enumerate(named.items()):
        colour = WRONG if "without" in name else QUERY
        dash = "--" if many and index >= len(named) / 2 else "-"
        marker = "o" if len(x) < 30 else ""
        ax.plot(x, y, dash, marker=marker, color=colour, linewidth=2.5, markersize=7, label=name)
    if log:
        ax.set_yscale("log")
        ax.set_ylim(bottom=0.5 * max(ROUNDING, min(chain(*named.values()))))
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set(xlabel=labels[0], ylabel=labels[1])
    place = {"loc": "outside upper center", "ncols": 2} if many else {}
    (figure if many else ax).legend(frameon=False, handlelength=3.2, **place)
    return ax
