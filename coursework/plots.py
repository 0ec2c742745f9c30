"""Live figures for the lessons: one palette, legible from the back row, safe for colour-blind eyes.

Queries are blue, keys orange and values green in every figure of the series; what goes wrong is
vermilion. Colours: Okabe and Ito 2008, "Color Universal Design".
"""

import math
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Final

import matplotlib as mpl
import torch
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle
from matplotlib.rcsetup import cycler
from torch import Tensor

QUERY: Final = "#0072B2"
KEY: Final = "#E69F00"
VALUE: Final = "#009E73"
WRONG: Final = "#D55E00"
ACCENT: Final = "#CC79A7"
MUTED: Final = "#8A8A8A"
WIDEST: Final = 12.4  # inches; a slide makes wider figures smaller, and their type too small to read
ROW: Final = 0.48  # inches of a heat map's row; eight of them leave a slide room for a sentence
CYCLE: Final = (QUERY, WRONG, VALUE, KEY, ACCENT, "#56B4E9", MUTED)


def use_style() -> None:
    """Set the look of every figure that follows: large type, the palette, no needless frame."""
    mpl.rcParams.update(
        {
            "font.size": 15,
            "axes.titlesize": 15,
            "axes.titlepad": 10,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.prop_cycle": cycler(color=CYCLE),
            "figure.dpi": 100,
            "figure.constrained_layout.use": True,
        }
    )


def heatmap(
    matrix: Tensor,
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    title: str = "",
    limits: tuple[float, float] = (0.0, 1.0),
    ax: Axes | None = None,
) -> Axes:
    """Draw a matrix (R, C) with its numbers: queries down, keys across.

    `limits` fixes the colour scale, so that figures compare; limits around zero give a scale of
    two colours. Entries that are NaN are left grey and named.
    """
    if ax is None:
        ax = panel(2.4 + 0.8 * len(columns), 1.4 + ROW * len(rows))
    colours = mpl.colormaps["RdBu_r" if limits[0] < 0 else "Blues"].with_extremes(bad="#D9D9D9")
    matrix = matrix.detach()
    ax.imshow(matrix.numpy(), cmap=colours, vmin=limits[0], vmax=limits[1], aspect="auto")
    dark = 0.6 * max(abs(limit) for limit in limits)
    for row, column in torch.ones(matrix.shape).nonzero().tolist():
        entry = float(matrix[row, column])
        colour = "white" if abs(entry) > dark else "black"
        ax.text(column, row, _number(entry), ha="center", va="center", color=colour)
    relabel(ax, rows, columns)
    ax.set_title(title)
    return ax


def heatmaps(
    matrices: Mapping[str, Tensor],
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    limits: tuple[float, float] = (0.0, 1.0),
) -> Figure:
    """Draw several matrices (R, C) side by side, each under its title, on one colour scale."""
    width = len(matrices) * (1.1 + 0.56 * len(columns))
    figure, axes = panels(1, len(matrices), min(width, WIDEST), 1.6 + ROW * len(rows))
    for ax, (title, matrix) in zip(axes[0], matrices.items(), strict=True):
        heatmap(matrix, rows, columns, title=title, limits=limits, ax=ax)
    return figure


def relabel(ax: Axes, rows: Sequence[str], columns: Sequence[str], *, slope: int = 35) -> None:
    """Label every row and column of a matrix, keys on top, as one reads it; `slope` in degrees."""
    ax.set_yticks(range(len(rows)), rows)
    ax.set_xticks(range(len(columns)), columns, rotation=slope, ha="left", rotation_mode="anchor")
    ax.tick_params(length=0, labeltop=True, labelbottom=False)
    ax.spines[:].set_visible(False)


def masks(named: Mapping[str, Tensor], rows: Sequence[str], columns: Sequence[str]) -> Figure:
    """Draw boolean masks (R, C) side by side: True filled, False crossed out."""
    width = len(named) * (1.5 + 0.34 * len(columns))
    figure, axes = panels(1, len(named), width, 1.9 + 0.34 * len(rows))
    colours = mpl.colors.ListedColormap(["#EDEDED", QUERY])
    for ax, (title, mask) in zip(axes[0], named.items(), strict=True):
        ax.imshow(mask.int().numpy(), cmap=colours, vmin=0, vmax=1, aspect="equal")
        for row, column in (~mask).nonzero().tolist():
            ax.text(column, row, "×", ha="center", va="center", color=MUTED)
        for line in range(mask.size(0) + 1):
            ax.axhline(line - 0.5, color="white", linewidth=2)
        for line in range(mask.size(1) + 1):
            ax.axvline(line - 0.5, color="white", linewidth=2)
        ax.set_title(title)
        relabel(ax, rows, columns, slope=60)
    legend = [Patch(color=QUERY, label="True"), Patch(fc="#EDEDED", ec=MUTED, label="False (×)")]
    figure.legend(handles=legend, loc="outside lower center", ncols=2, frameon=False)
    return figure


def bars(
    series: Mapping[str, Tensor],
    labels: Sequence[str],
    *,
    marked: Sequence[str] = (),
    top: float | None = None,
) -> Figure:
    """Draw vectors (N,) as bars with their numbers, two to a row; −inf is written, not drawn.

    Bars whose label is `marked` are vermilion. `top` gives all panels one scale, from 0 to `top`.
    """
    columns, rows = min(2, len(series)), math.ceil(len(series) / 2)
    height = 3.0 if rows == 1 else 2.4 * rows  # inches; a slide has room for two rows and a sentence
    figure, axes = panels(rows, columns, columns * (0.9 + 0.66 * len(labels)), height)
    if rows > 1:  # a title stands nearer to its own panel than to the one above
        figure.set_layout_engine("constrained", h_pad=0.2)
    flat = list(chain(*axes))
    for ax, (title, vector) in zip(flat, series.items(), strict=False):
        heights = vector.detach()
        colours = [WRONG if label in marked else QUERY for label in labels]
        finite = torch.where(heights.isfinite(), heights, 0.0)
        drawn = ax.bar(range(len(labels)), finite.tolist(), color=colours)
        ax.bar_label(drawn, [_number(height) for height in heights.tolist()], padding=3)
        ax.set_xticks(range(len(labels)), labels)
        ax.tick_params(axis="x", length=0)
        if max(map(len, labels)) > 5:
            ax.tick_params(axis="x", rotation=35)
        ax.axhline(0, color="black", linewidth=1.2, clip_on=False)
        ax.set_yticks([])
        ax.spines[["left", "bottom"]].set_visible(False)
        ax.margins(y=0.18)
        ax.set_title(title)
        if top is not None:
            ax.set_ylim(0, top)
    for ax in flat[len(series) :]:
        ax.remove()
    return figure


def distributions(named: Mapping[str, Sequence[Tensor]], columns: Sequence[str]) -> Figure:
    """Draw a grid of distributions (N,): one row per name, one column per setting."""
    size = (2.6 * len(columns), 2.4 * len(named))
    figure, axes = panels(len(named), len(columns), *size)
    for (name, row), line, colour in zip(named.items(), axes, (WRONG, QUERY, VALUE), strict=False):
        for weights, ax in zip(row, line, strict=True):
            ax.bar(range(len(weights)), weights.detach().tolist(), color=colour)
            ax.set(ylim=(0, 1.05), xticks=[])
        line[0].set_ylabel(name)
    for ax, title in zip(axes[0], columns, strict=True):
        ax.set_title(title)
    return figure


def mixture(values: Tensor, weights: Tensor, labels: Sequence[str]) -> Axes:
    """Draw value vectors (N, 2) as points, sized by their weights (N,), and their mix as a star."""
    ax = panel(6.4, 4.4)
    mix_x, mix_y = (weights @ values).tolist()
    for (x, y), weight, label in zip(values.tolist(), weights.tolist(), labels, strict=True):
        ax.plot([x, mix_x], [y, mix_y], color=VALUE, alpha=0.6, linewidth=8 * weight)
        face = VALUE if weight > 0 else "white"
        size = 60 + 900 * weight
        ax.scatter(x, y, s=size, facecolor=face, edgecolor=VALUE, linewidth=2, zorder=3)
        away = (0, -30 if y < mix_y else 20)  # the label stands off the line to the mix
        text = f"{label} {weight:.2f}"
        ax.annotate(text, (x, y), away, textcoords="offset points", ha="center")
    ax.scatter(mix_x, mix_y, s=320, marker="*", color=WRONG, zorder=4, label="output")
    ax.set(xlabel="first feature of the value", ylabel="second feature of the value")
    ax.margins(0.2)
    ax.legend(frameon=False, loc="upper right")
    return ax


def curves(
    x: Sequence[float],
    named: Mapping[str, Sequence[float]],
    *,
    labels: tuple[str, str],
    base: int | None = None,
) -> Axes:
    """Draw one line per name over `x`; `labels` name the axes, `base` makes `x` logarithmic.

    Up to 20 points are marked on the lines. More would hide whether a line is dashed.
    """
    ax = panel(7.2, 3.8)
    size = 8 if len(x) <= 20 else 0
    for (name, y), style in zip(named.items(), ("o-", "s--", "^:", "d-."), strict=False):
        ax.plot(x, y, style, label=name, linewidth=2.5, markersize=size)
    if base is not None:
        ax.set_xscale("log", base=base)
        ax.set_xticks(list(x), [f"{tick:g}" for tick in x])
        ax.minorticks_off()
    low, high = min(0.0, *chain(*named.values())), max(chain(*named.values()))
    ax.set_ylim(low, high + 0.06 * (high - low))  # no marker is cut off
    ax.set(xlabel=labels[0], ylabel=labels[1])
    ax.legend(frameon=False)
    return ax


def panels(rows: int, columns: int, width: float, height: float) -> tuple[Figure, list[list[Axes]]]:
    """Start a figure of `width` by `height` inches with a grid of axes in it."""
    figure, axes = plt.subplots(rows, columns, figsize=(width, height), squeeze=False)
    return figure, axes.tolist()


def panel(width: float, height: float) -> Axes:
    """Start a figure of `width` by `height` inches with one pair of axes in it."""
    _, ((ax,),) = panels(1, 1, width, height)
    return ax


def frame(ax: Axes, cells: Tensor, *, size: tuple[float, float] = (0.92, 0.88), style: str = "solid") -> None:
    """Put a frame around the cells (R, C) of a heat map that are True."""
    width, height = size
    for row, column in torch.nonzero(cells).tolist():
        corner = (column - width / 2, row - height / 2)
        ax.add_patch(Rectangle(corner, width, height, fill=False, ec=WRONG, lw=3, ls=style))


def _number(entry: float) -> str:
    """Write a number with two places, a true minus sign, and the field's names for the rest."""
    text = f"{entry:.2f}".removeprefix("-") if abs(entry) < 0.005 else f"{entry:.2f}"
    return text.replace("-", "−").replace("inf", "∞").replace("nan", "NaN")
