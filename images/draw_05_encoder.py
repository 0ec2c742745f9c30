"""Draw the figures of lesson 5: `python images/draw_05_encoder.py`."""

import math
from collections.abc import Sequence

import torch
from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch, Polygon
from style import INK, Point, arrow, box, page, save, shade, tint, write
from torch import nn

from coursework.plots import ACCENT, KEY, MUTED, QUERY, VALUE

ATTENTION, FEED, NORM, RESIDUAL = QUERY, KEY, VALUE, ACCENT
INDEXED = 22  # points: of a name with an index, which is drawn 0.7 times as large and must not be too small


def plus(ax: Axes, centre: Point) -> None:
    """Draw a circle with a plus sign in it."""
    ax.plot(*centre, marker="o", markersize=26, mfc="white", mec=INK, mew=2)
    write(ax, centre, "+", size=19, bold=True)


def around(ax: Axes, start: Point, end: Point, height: float) -> None:
    """Draw a residual connection: up from a line, along, and down into a sum."""
    over = start[1] + height
    ax.plot([start[0], start[0], end[0]], [start[1], over, over], color=shade(RESIDUAL, 0.1), lw=3)
    arrow(ax, (end[0], over), (end[0], end[1] + 0.24), shade(RESIDUAL, 0.1), 3)
    ax.plot(*start, marker="o", markersize=8, color=shade(RESIDUAL, 0.1))


def sublayer(ax: Axes, left: float, y: float, text: str, colour: str) -> float:
    """Draw a sublayer, its residual connection, the sum and the norm; return where it ends."""
    arrow(ax, (left, y), (left + 0.55, y))
    box(ax, (left + 1.35, y), (1.6, 1.0), text, colour)
    arrow(ax, (left + 2.15, y), (left + 2.5, y))
    plus(ax, (left + 2.75, y))
    around(ax, (left + 0.22, y), (left + 2.75, y), 1.0)
    arrow(ax, (left + 2.98, y), (left + 3.35, y))
    box(ax, (left + 3.9, y), (1.1, 1.0), "layer\nnorm", NORM)
    return left + 4.45


def draw_overview() -> None:
    """Draw the encoder from ids to vectors, with the shapes."""
    figure, ax = page(15.4, 4.0)
    y = 1.75
    write(ax, (0.6, y), "ids", bold=True)
    write(ax, (0.6, 0.55), "(B, S)", MUTED)
    arrow(ax, (0.95, y), (1.4, y))
    box(ax, (2.25, y), (1.7, 1.0), "token\nembedding", MUTED)
    write(ax, (2.25, 0.55), "(B, S, D)", MUTED)
    arrow(ax, (3.1, y), (3.45, y))
    plus(ax, (3.7, y))
    arrow(ax, (3.7, 3.1), (3.7, y + 0.24))
    write(ax, (3.7, 3.4), "positions", bold=True)
    shape = "round,pad=0,rounding_size=0.15"
    frame = FancyBboxPatch((4.35, 0.85), 9.3, 2.35, shape, fc="none", ec=MUTED, lw=2, ls="--")
    ax.add_patch(frame)
    write(ax, (9.0, 3.55), "encoder layer, N times", bold=True)
    ax.plot([3.93, 4.55], [y, y], color=INK, lw=2)
    end = sublayer(ax, 4.55, y, "self-\nattention", ATTENTION)
    end = sublayer(ax, end, y, "feed-\nforward", FEED)
    arrow(ax, (end, y), (14.15, y))
    write(ax, (14.75, y), "vectors", bold=True)
    for x in (6.0, 8.4, 10.4, 12.9, 14.75):
        write(ax, (x, 0.55), "(B, S, D)", MUTED)
    save(figure, "encoder_overview")


WORDS = ("the", "cat", "sat")
TOKENS = ((1, 1, 3, 3), (2, 4, 4, 10), (40, 20, 20, 40))  # "cat" is the token of the lesson's demo


def grid(ax: Axes, left: float, rows: Sequence[Sequence[str]]) -> None:
    """Draw numbers, a row for each token, framed as they are normalised."""
    for place, row in enumerate(rows):
        y = 1.12 - 0.52 * place
        for feature, number in enumerate(row):
            x = left + 0.8 * feature
            corners = [(x, y), (x + 0.8, y), (x + 0.8, y + 0.4), (x, y + 0.4)]
            ax.add_patch(Polygon(corners, closed=True, fc=tint(NORM), ec="white", lw=2))
            write(ax, (x + 0.4, y + 0.2), number)
        shape = "round,pad=0,rounding_size=0.06"
        size = (0.8 * len(row), 0.4)
        ax.add_patch(FancyBboxPatch((left, y), *size, shape, fc="none", ec=NORM, lw=2.5))


def draw_rows() -> None:
    """Normalise three tokens, each by the mean and variance of its own row."""
    figure, ax = page(11.9, 2.05)
    means = [sum(row) / len(row) for row in TOKENS]
    variances = [
        sum((x - mean) ** 2 for x in row) / len(row) for row, mean in zip(TOKENS, means, strict=True)
    ]
    normed = [
        [(x - mean) / math.sqrt(variance) for x in row]
        for row, mean, variance in zip(TOKENS, means, variances, strict=True)
    ]
    grid(ax, 0.85, [[f"{x}" for x in row] for row in TOKENS])
    grid(ax, 8.5, [[f"{x:.2f}".replace("-", "−") for x in row] for row in normed])
    for place, (word, mean, variance) in enumerate(zip(WORDS, means, variances, strict=True)):
        y = 1.32 - 0.52 * place
        write(ax, (0.4, y), word, bold=True)
        write(ax, (4.65, y), f"{mean:g}", NORM, bold=True)
        write(ax, (5.65, y), f"{variance:g}", NORM, bold=True)
        arrow(ax, (6.15, y - 0.07), (8.4, y - 0.07))
        write(ax, (7.2, y + 0.14), f"(x − {mean:g}) / {math.sqrt(variance):g}")
    for x, text in ((2.45, "features, $D$ = 4"), (9.95, "layer norm: mean 0, variance 1")):
        write(ax, (x, 1.84), text, bold=True)
    write(ax, (4.65, 1.84), "mean", NORM, bold=True)
    write(ax, (5.65, 1.84), "variance", NORM, bold=True)
    save(figure, "encoder_layer_norm")


INSIDE = 16  # hidden features, four times as many as a token has


def cells(ax: Axes, start: Point, width: float, values: Sequence[float], colour: str) -> None:
    """Draw a vector as a row of cells, the darker the larger; what is 0 stays white."""
    (left, y), most = start, max(map(abs, values))
    for place, value in enumerate(values):
        x = left + width * place
        corners = [(x, y - 0.21), (x + width, y - 0.21), (x + width, y + 0.21), (x, y + 0.21)]
        shown = tint(colour, 0.2 + 0.5 * abs(value) / most) if value else "white"
        ax.add_patch(Polygon(corners, closed=True, fc=shown, ec=shade(colour, 0.1), lw=1.5))


def draw_feed_forward() -> None:
    """Draw three tokens, each on its own way through the same two linear layers."""
    figure, ax = page(11.9, 2.75)
    torch.manual_seed(3)
    x = torch.randn(3, 4)
    inwards, outwards = nn.Linear(4, INSIDE), nn.Linear(INSIDE, 4)
    hidden = inwards(x).relu()
    out = outwards(hidden)
    for place, word in enumerate(WORDS):
        y = 1.98 - 0.6 * place
        write(ax, (0.33, y), word, size=17, bold=True)
        cells(ax, (0.75, y), 0.27, x[place].tolist(), MUTED)
        cells(ax, (4.95, y), 0.22, hidden[place].tolist(), FEED)
        cells(ax, (10.7, y), 0.27, out[place].tolist(), MUTED)
        for middle, width, text in ((3.4, 2.3, "$W_1$, $b_1$, ReLU"), (9.6, 1.4, "$W_2$, $b_2$")):
            box(ax, (middle, y), (width, 0.5), text, FEED, font=INDEXED)
        for start, end in ((1.86, 2.22), (4.58, 4.92), (8.5, 8.87), (10.33, 10.67)):
            arrow(ax, (start, y), (end, y))
    for at, text in ((1.29, "$D$ = 4"), (6.71, "$F$ = 16"), (11.24, "$D$ = 4")):
        write(ax, (at, 2.53), text, size=17, bold=True)
    for at, text in ((3.4, "the same in every row"), (6.71, "white: 0"), (9.9, "the same in every row")):
        write(ax, (at, 0.22), text, FEED, size=17)
    save(figure, "encoder_feed_forward")


def draw_residual() -> None:
    """Draw the residual path through two layers; sublayers branch off and are added back to it."""
    figure, ax = page(11.9, 2.95)
    y, top, thick = 1.2, 2.42, shade(RESIDUAL, 0.1)
    write(ax, (0.2, y), "$x$", size=INDEXED)
    arrow(ax, (0.4, y), (11.75, y), thick, 5)
    names = (("attention", ATTENTION), ("feed-forward", FEED)) * 2
    for place, (name, colour) in enumerate(names):
        left = 0.75 + 2.6 * place
        ax.plot(left, y, marker="o", markersize=9, color=INK)
        ax.plot([left, left], [y, top], color=INK, lw=2)
        arrow(ax, (left, top), (left + 0.3, top))
        box(ax, (left + 1.12, top), (1.6, 0.94), "", colour)
        write(ax, (left + 1.12, top + 0.2), f"$f_{place + 1}$", size=INDEXED)
        write(ax, (left + 1.12, top - 0.24), name)
        ax.plot([left + 1.92, left + 2.2], [top, top], color=INK, lw=2)
        arrow(ax, (left + 2.2, top), (left + 2.2, y + 0.24))
        plus(ax, (left + 2.2, y))
        write(ax, (left + 2.2, y - 0.5), f"$x_{place + 1}$", RESIDUAL, size=INDEXED)
    ax.plot([11.7, 9.1], [0.22, 0.22], color=thick, lw=3, ls=":")
    write(ax, (5.85, 0.22), "backwards: the gradient has a path around every sublayer", RESIDUAL)
    ax.plot([2.6, 0.6], [0.22, 0.22], color=thick, lw=3, ls=":")
    arrow(ax, (0.6, 0.22), (0.25, 0.22), thick, 3)
    save(figure, "encoder_residual")


COLUMNS, ROWS, DEEP = 6, 4, 3  # features, tokens, sentences
SIDE, STEP = 0.55, (0.3, 0.26)


def block(ax: Axes, corner: Point, lit: set[tuple[int, int, int]], colour: str) -> None:
    """Draw a block of cubes, back to front and bottom to top; `lit` are (sentence, token, feature)."""
    for sentence in reversed(range(DEEP)):
        for token in reversed(range(ROWS)):
            for feature in range(COLUMNS):
                bright = (sentence, token, feature) in lit
                x = corner[0] + feature * SIDE + sentence * STEP[0]
                y = corner[1] - token * SIDE + sentence * STEP[1]
                _cube(ax, (x, y), colour if bright else MUTED, 0.75 if bright else 0.12)


def _cube(ax: Axes, at: Point, colour: str, strength: float) -> None:
    """Draw a cube: front, top and right side."""
    (x, y), s, (dx, dy) = at, SIDE, STEP
    faces = (
        [(x, y), (x + s, y), (x + s, y + s), (x, y + s)],
        [(x, y + s), (x + s, y + s), (x + s + dx, y + s + dy), (x + dx, y + s + dy)],
        [(x + s, y), (x + s + dx, y + dy), (x + s + dx, y + s + dy), (x + s, y + s)],
    )
    for face in faces:
        ax.add_patch(Polygon(face, closed=True, fc=tint(colour, strength), ec="#777777", lw=0.8))


def axes_of(ax: Axes, corner: Point) -> None:
    """Name the three directions of a block."""
    low = corner[1] - (ROWS - 1) * SIDE
    arrow(ax, (corner[0], low - 0.22), (corner[0] + COLUMNS * SIDE, low - 0.22))
    write(ax, (corner[0] + COLUMNS * SIDE / 2, low - 0.5), "features D")
    arrow(ax, (corner[0] - 0.2, corner[1] + SIDE), (corner[0] - 0.2, low))
    middle = (corner[0] - 0.5, (corner[1] + SIDE + low) / 2)
    ax.text(*middle, "length S", size=15, rotation=90, ha="center", va="center")
    right = corner[0] + COLUMNS * SIDE + 0.2
    end = (right + DEEP * STEP[0], low + DEEP * STEP[1])
    arrow(ax, (right, low), end)
    write(ax, (end[0] + 0.5, end[1] - 0.35), "batch B")


def draw_norms() -> None:
    """Contrast which numbers layer norm and batch norm normalise together."""
    figure, ax = page(13.4, 4.6)
    one_token = {(0, 1, feature) for feature in range(COLUMNS)}
    one_feature = {(sentence, token, 2) for sentence in range(DEEP) for token in range(ROWS)}
    for left, lit, colour, title in (
        (1.1, one_token, NORM, "layer norm: one token"),
        (7.9, one_feature, ATTENTION, "batch norm: one feature"),
    ):
        block(ax, (left, 2.75), lit, colour)
        axes_of(ax, (left, 2.75))
        write(ax, (left + 2.1, 4.3), title, bold=True)
    save(figure, "encoder_norms")


def draw_pre_post() -> None:
    """Contrast post-norm and pre-norm; the residual path runs from left to right."""
    figure, ax = page(12.6, 5.6)
    rows = ((4.0, "post-norm\n(the paper)"), (1.2, "pre-norm\n(lesson 6)"))
    for y, name in rows:
        write(ax, (0.95, y), name, bold=True)
        write(ax, (2.35, y), "x", bold=True)
    thick = shade(RESIDUAL, 0.1)
    y = rows[0][0]
    arrow(ax, (2.6, y), (4.5, y))
    box(ax, (5.5, y), (2.0, 0.9), "sublayer", ATTENTION)
    arrow(ax, (6.5, y), (7.9, y))
    plus(ax, (8.15, y))
    around(ax, (2.95, y), (8.15, y), 0.95)
    arrow(ax, (8.4, y), (9.2, y), thick, 3)
    box(ax, (10.0, y), (1.6, 0.9), "layer norm", NORM)
    arrow(ax, (10.8, y), (11.9, y), thick, 3)
    write(ax, (6.2, 5.3), "the residual path leads through every norm", RESIDUAL)
    y = rows[1][0]
    arrow(ax, (2.6, y), (3.4, y))
    box(ax, (4.2, y), (1.6, 0.9), "layer norm", NORM)
    arrow(ax, (5.0, y), (5.6, y))
    box(ax, (6.6, y), (2.0, 0.9), "sublayer", ATTENTION)
    arrow(ax, (7.6, y), (7.9, y))
    plus(ax, (8.15, y))
    around(ax, (2.95, y), (8.15, y), 0.95)
    arrow(ax, (8.4, y), (11.9, y), thick, 3)
    write(ax, (6.2, 2.5), "the residual path contains nothing but sums", RESIDUAL)
    save(figure, "encoder_pre_post")


if __name__ == "__main__":
    draw_overview()
    draw_rows()
    draw_norms()
    draw_feed_forward()
    draw_residual()
    draw_pre_post()
