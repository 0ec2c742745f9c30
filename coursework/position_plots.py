"""Live figures of lesson 2: encodings as heat maps, as waves, and as clock hands.

Sines are blue and cosines orange throughout; what goes wrong is vermilion.
"""

import math
from collections.abc import Mapping, Sequence

import torch
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from torch import Tensor

from coursework.plots import KEY, MUTED, QUERY, panels


def tables(named: Mapping[str, Tensor], *, labels: tuple[str, str] = ("column", "position")) -> Figure:
    """Draw matrices (R, C) side by side as colours from −1 to 1, on one scale."""
    figure, (axes,) = panels(1, len(named), max(3.6 * len(named), 5.2) + 0.8, 3.6)
    for ax, (title, matrix) in zip(axes, named.items(), strict=True):
        pixels = matrix.detach().numpy()
        shown = ax.imshow(pixels, cmap="RdBu_r", vmin=-1, vmax=1, aspect="auto")
        shown.set_interpolation("nearest")
        ax.set(title=title, xlabel=labels[0])
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_locator(MaxNLocator(5, integer=True))
        ax.spines[:].set_visible(False)
    axes[0].set_ylabel(labels[1])
    figure.colorbar(shown, ax=axes, ticks=[-1, 0, 1], format="{x:g}", aspect=30)
    return figure


def waves(encoding: Tensor, pairs: Sequence[int]) -> Figure:
    """Draw the sine and cosine columns of some pairs of an encoding (N, D), one panel a pair."""
    figure, rows = panels(len(pairs), 1, 9.4, 1.1 + 0.66 * len(pairs))
    axes = [ax for (ax,) in rows]
    for ax, pair in zip(axes, pairs, strict=True):
        sine, cosine = encoding.detach()[:, 2 * pair : 2 * pair + 2].T.tolist()
        ax.plot(sine, color=QUERY, linewidth=2.2, label="even column")
        ax.plot(cosine, color=KEY, linewidth=2.2, linestyle="--", label="odd column")
        ax.set(ylim=(-1.25, 1.25), yticks=[-1, 0, 1])
        ax.set_ylabel(f"pair {pair}", rotation=0, ha="right", va="center")
        ax.margins(x=0.01)
    for ax in axes[:-1]:
        ax.set_xticklabels([])
    axes[-1].set_xlabel("position")
    handles, names = axes[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper right", ncols=2, frameon=False)
    return figure


def dials(before: Tensor, after: Tensor, pairs: Sequence[int], names: tuple[str, str]) -> Figure:
    """Draw pairs of two encodings (D,) as hands of clocks: `before` dashed, `after` solid.

    A hand points to (sine, cosine), so it stands upright at angle 0 and turns clockwise.
    """
    figure, (axes,) = panels(1, len(pairs), 1.9 * len(pairs), 2.9)
    for ax, pair in zip(axes, pairs, strict=True):
        ax.add_patch(plt.Circle((0, 0), 1, fill=False, color=MUTED, linewidth=1.5))
        hands = ((before, KEY, "--", names[0]), (after, QUERY, "-", names[1]))
        for row, colour, style, name in hands:
            sine, cosine = row.detach()[2 * pair : 2 * pair + 2].tolist()
            ax.plot([0, sine], [0, cosine], style, color=colour, linewidth=3.5, label=name)
        ax.set(xlim=(-1.15, 1.15), ylim=(-1.15, 1.15), aspect="equal", title=f"pair {pair}")
        ax.set_axis_off()
    handles, texts = axes[0].get_legend_handles_labels()
    figure.legend(handles, texts, loc="outside lower center", ncols=2, frameon=False)
    return figure


def turned_per_position(encoding: Tensor) -> Tensor:
    """Measure by how many radians each pair of an encoding (N, D) turns from position 0 to 1.

    Returns: (D / 2,).
    """
    sine, cosine = encoding[1].view(-1, 2).unbind(-1)
    return torch.atan2(sine, cosine)


def with_base(encoding: Tensor, base: float) -> Tensor:
    """Redraw an encoding (N, D) of base 10,000 as it would be with another base.

    The speed of each pair is measured in the encoding itself, and changed; the hands then turn
    as complex numbers do. Returns: (N, D).
    """
    speed = turned_per_position(encoding).double() ** (math.log(base) / math.log(10000))
    turned = torch.outer(torch.arange(len(encoding), dtype=torch.float64), speed)
    hands = torch.polar(torch.ones_like(turned), turned)
    return torch.view_as_real(hands).flip(-1).flatten(1).to(encoding.dtype)


def still_columns(encoding: Tensor) -> int:
    """Count the columns of an encoding (N, D) whose value moves by less than 0.01 in all."""
    moved = encoding.amax(dim=0) - encoding.amin(dim=0)
    return int((moved < 0.01).sum())
