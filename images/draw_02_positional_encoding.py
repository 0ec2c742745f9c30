"""Draw the figures of lesson 2: `python images/draw_02_positional_encoding.py`."""

import math

from matplotlib.axes import Axes
from matplotlib.patches import Circle, Rectangle
from style import INK, Point, arrow, box, page, save, tint, write

from coursework.plots import ACCENT, KEY, MUTED, QUERY, VALUE, WRONG

PAIRS = range(4)
COLOURS = (QUERY, KEY, VALUE, ACCENT)
PERIODS = (16, 8, 4, 2)
TOP, STEP = 5.3, 0.31


def digits(ax: Axes, left: float) -> None:
    """Draw positions 0 to 15 as four binary digits, the ones tinted."""
    for position in range(16):
        for column, period in enumerate(PERIODS):
            digit = position * 2 // period % 2
            corner = (left + 0.85 * column, TOP - STEP * (position + 0.5))
            face = tint(COLOURS[column], 0.45 if digit else 0.08)
            ax.add_patch(Rectangle(corner, 0.85, STEP, fc=face, ec="white", lw=1.5))
            write(ax, (corner[0] + 0.425, corner[1] + STEP / 2), str(digit))


def rhythms(ax: Axes, left: float) -> None:
    """Draw the same four rhythms as waves that run down the page, read at each position."""
    for column, period in enumerate(PERIODS):
        middle = left + 0.85 * column + 0.425
        fine = [n / 20 for n in range(-10, 311)]
        for steps, style in ((fine, "-"), (range(16), "o")):
            x = [middle - 0.36 * math.sin(2 * math.pi * (p + 0.5) / period) for p in steps]
            ax.plot(x, [TOP - STEP * p for p in steps], style, color=COLOURS[column], lw=2, ms=5)


def draw_binary() -> None:
    """Set the binary digits of 0 to 15 beside waves of the same rhythm."""
    figure, ax = page(9.8, 6.1, high=5.0)
    for left, title, draw in ((1.4, "binary digits", digits), (5.9, "waves", rhythms)):
        write(ax, (left + 1.7, 5.8), title, bold=True)
        draw(ax, left)
        for position in range(16):
            write(ax, (left - 0.35, TOP - STEP * position), str(position), MUTED)
        for column, period in enumerate(PERIODS):
            write(ax, (left + 0.85 * column + 0.425, 0.25), str(period), COLOURS[column], bold=True)
        write(ax, (left - 0.6, 0.25), "period", MUTED)
    save(figure, "position_binary")


def clock(ax: Axes, centre: Point, angle: float, colour: str) -> None:
    """Draw a clock whose hand has turned by `angle` radians from the top, to the right."""
    radius, (x, y) = 0.48, centre
    ax.add_patch(Circle(centre, radius, fc=tint(colour, 0.1), ec=colour, lw=2))
    ax.plot([x, x], [y + radius - 0.1, y + radius], color=colour, lw=2)
    end = (x + 0.9 * radius * math.sin(angle), y + 0.9 * radius * math.cos(angle))
    arrow(ax, centre, end, INK, 2.5)


def draw_clocks() -> None:
    """Draw the four pairs of d_model 8 as clocks, at three positions."""
    figure, ax = page(9.6, 4.2)
    write(ax, (0.95, 3.8), "position", MUTED, bold=True)
    for pair in PAIRS:
        x, speed = 2.9 + 1.8 * pair, 10.0**-pair
        write(ax, (x, 3.97), f"pair {pair}", COLOURS[pair], bold=True)
        write(ax, (x, 3.67), f"{speed:g} per step", COLOURS[pair])
        for row, position in enumerate((1, 10, 100)):
            clock(ax, (x, 2.9 - 1.15 * row), position * speed, COLOURS[pair])
    for row, position in enumerate((1, 10, 100)):
        write(ax, (0.95, 2.9 - 1.15 * row), str(position), size=20, bold=True)
    save(figure, "position_clocks")


def draw_columns() -> None:
    """Draw which column holds what: two columns a pair, one angle a pair."""
    figure, ax = page(11.4, 4.2)
    angles = [f"pos / 10000$^{{{2 * pair}/8}}$" for pair in PAIRS]
    simple = ("= pos", "= pos / 10", "= pos / 100", "= pos / 1000")
    for y, text in ((3.75, "column"), (3.0, "pair i"), (2.1, "entry"), (1.0, "angle")):
        write(ax, (0.75, y), text, MUTED, bold=True)
    for pair in PAIRS:
        middle, colour = 2.7 + 2.35 * pair, COLOURS[pair]
        box(ax, (middle, 3.0), (2.15, 0.55), f"i = {pair}", colour)
        for side, name in enumerate(("sin", "cos")):
            x = middle - 0.55 + 1.1 * side
            write(ax, (x, 3.75), str(2 * pair + side), bold=True)
            box(ax, (x, 2.1), (1.02, 0.6), name, colour)
            arrow(ax, (middle, 1.45), (x, 1.77), colour, 1.2)
        write(ax, (middle, 1.15), angles[pair], colour)
        write(ax, (middle, 0.6), simple[pair], colour, bold=True)
    save(figure, "position_columns")


def table_rows(ax: Axes, corner: Point, rows: int, taken: int) -> None:
    """Draw the table as stripes, those that are taken in colour."""
    (x, y), height = corner, 0.2
    for row in range(rows):
        colour = tint(VALUE, 0.45) if row < taken else tint(MUTED, 0.15)
        ax.add_patch(Rectangle((x, y - height * (row + 1)), 1.9, height, fc=colour, ec="white", lw=1.5))


def draw_adding() -> None:
    """Draw the layer: the first S rows of the table are added to each sample, then dropout."""
    figure, ax = page(11.4, 4.6)
    for shift in (0.24, 0.12, 0.0):
        box(ax, (1.3 + shift, 1.0 + shift), (1.9, 1.0), "", QUERY)
    write(ax, (1.3, 1.0), "embeddings\nB, S, D", QUERY)
    table_rows(ax, (3.75, 4.35), 8, 5)
    write(ax, (3.0, 3.55), "pe", VALUE, bold=True)
    rows = "pe[:S], the first S of max_len rows:\nS, D, the same for each sample"
    write(ax, (7.75, 3.85), rows, VALUE)
    ax.add_patch(Circle((4.7, 1.0), 0.32, fc="white", ec=INK, lw=2))
    write(ax, (4.7, 1.0), "+", size=22)
    arrow(ax, (2.55, 1.0), (4.35, 1.0), QUERY)
    arrow(ax, (4.7, 2.7), (4.7, 1.36), VALUE)
    arrow(ax, (5.05, 1.0), (6.0, 1.0))
    box(ax, (6.95, 1.0), (1.8, 0.8), "dropout", MUTED)
    arrow(ax, (7.9, 1.0), (8.9, 1.0))
    for shift in (0.24, 0.12, 0.0):
        box(ax, (9.85 + shift, 1.0 + shift), (1.8, 1.0), "", WRONG)
    write(ax, (9.85, 1.0), "x\nB, S, D", WRONG)
    save(figure, "position_adding")


if __name__ == "__main__":
    draw_binary()
    draw_clocks()
    draw_columns()
    draw_adding()
