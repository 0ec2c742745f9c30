"""What the drawn figures share: a page measured in inches, boxes, arrows, and one way to save.

The palette is that of the live plots: queries blue, keys orange, values green. Text is drawn as
outlines, so that a figure looks the same everywhere; the lessons give the words as alt text.
"""

from pathlib import Path

import matplotlib as mpl
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch
from matplotlib.text import Text

FOLDER = Path(__file__).resolve().parent
INK = "#222222"
SIZE = 15  # points: 20 pixels on a slide 1280 pixels wide, and nothing is smaller
WIDE, HIGH = 12.5, 6.1  # inches that a figure takes at most, so that a slide need not shrink it
Point = tuple[float, float]
mpl.rcParams["font.size"] = SIZE


def page(width: float, height: float, *, high: float = HIGH) -> tuple[Figure, Axes]:
    """Start an empty figure; coordinates are inches from its lower left corner, before it is made to fit.

    It gets flatter, down to `high` inches, where a slide is to have room for text beside it: type has
    one size whatever the figure's.
    """
    scale = min(1.0, WIDE / width, HIGH / height)
    figure = plt.figure(figsize=(scale * width, min(scale * height, high)), facecolor="white")
    ax = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    ax.set(xlim=(0, width), ylim=(0, height))
    ax.set_axis_off()
    return figure, ax


def tint(colour: str, strength: float = 0.18) -> tuple[float, float, float]:
    """Mix a colour with white: a background on which black text is legible."""
    red, green, blue = (1 - strength * (1 - part) for part in mpl.colors.to_rgb(colour))
    return red, green, blue


def shade(colour: str, strength: float = 0.3) -> tuple[float, float, float]:
    """Mix a colour with black: legible as text on white."""
    red, green, blue = ((1 - strength) * part for part in mpl.colors.to_rgb(colour))
    return red, green, blue


def box(ax: Axes, centre: Point, size: Point, text: str, colour: str, *, font: float = SIZE) -> None:
    """Draw a rounded box with its text in the middle."""
    corner = (centre[0] - size[0] / 2, centre[1] - size[1] / 2)
    shape = "round,pad=0,rounding_size=0.1"
    ax.add_patch(FancyBboxPatch(corner, *size, shape, fc=tint(colour), ec=colour, lw=2))
    write(ax, centre, text, size=font)


def arrow(ax: Axes, start: Point, end: Point, colour: str = INK, width: float = 2.0) -> None:
    """Draw a straight arrow; its head grows with its width."""
    style = f"-|>,head_length={4 + width * 0.6},head_width={2 + width * 0.5}"
    line = FancyArrowPatch(start, end, arrowstyle=style, shrinkA=0, shrinkB=0, lw=width)
    line.set(color=colour, joinstyle="miter")
    ax.add_patch(line)


def write(
    ax: Axes, at: Point, text: str, colour: str = INK, *, size: float = SIZE, bold: bool = False
) -> Text:
    """Write text around a point, a little darker than the colour of the thing it names."""
    weight = "bold" if bold else "normal"
    return ax.text(*at, text, color=shade(colour), size=size, weight=weight, ha="center", va="center")


def save(figure: Figure, name: str) -> None:
    """Write images/NAME.svg, the same bytes at every run."""
    settings = {"svg.hashsalt": name, "svg.fonttype": "path"}
    with mpl.rc_context(settings):
        figure.savefig(FOLDER / f"{name}.svg", metadata={"Date": None, "Creator": None})
    plt.close(figure)
