"""Draw the figures of lesson 3: `python images/draw_03_attention.py`."""

import math
from collections.abc import Sequence

from matplotlib.axes import Axes
from style import INK, Point, arrow, box, page, save, tint, write

from coursework.plots import ACCENT, KEY, MUTED, QUERY, VALUE, WRONG

FRUIT = ("mango", "apple", "lemon")
KEYS = ((2.0, 1.0), (1.0, 1.0), (-1.0, 0.5))  # the numbers of the lesson's first demo
PRICES = (2.5, 1.0, 0.5)
WANTED = (1.5, 1.0)
UNIT = 0.3


def soft_weights() -> list[float]:
    """Return how strongly WANTED matches each key: the softmax of the dot products."""
    scores = [sum(q * k for q, k in zip(WANTED, key, strict=True)) for key in KEYS]
    exponentials = [math.exp(score) for score in scores]
    return [part / sum(exponentials) for part in exponentials]


def lookup(ax: Axes, left: float, title: str, query: str, weights: Sequence[float]) -> None:
    """Draw one lookup: a query, three keys with their values, and the answer they mix to."""
    write(ax, (left + 3.1, 4.0), title, bold=True)
    box(ax, (left + 0.7, 2.0), (1.3, 0.9), query, QUERY)
    answer = sum(weight * price for weight, price in zip(weights, PRICES, strict=True))
    for name, price, weight, y in zip(FRUIT, PRICES, weights, (3.1, 2.0, 0.9), strict=True):
        box(ax, (left + 2.7, y), (0.95, 0.6), name, KEY)
        box(ax, (left + 3.6, y), (0.75, 0.6), f"{price:.2f}", VALUE)
        if weight > 0:
            spread, width = 2 + 0.22 * (y - 2), 1 + 5 * weight
            arrow(ax, (left + 1.38, spread), (left + 2.19, y), QUERY, width)
            write(ax, (left + 4.4, y), f"× {weight:.2f}", VALUE)
            arrow(ax, (left + 4.8, y), (left + 5.38, spread), VALUE, width)
    box(ax, (left + 5.8, 2.0), (0.78, 0.9), f"{answer:.2f}", WRONG)


def draw_retrieval() -> None:
    """Contrast a dictionary, which finds one key, with attention, which weighs all of them."""
    figure, ax = page(13.0, 4.3, high=3.3)
    lookup(ax, 0.05, "dictionary: one key, or none", "“mango”", (1.0, 0.0, 0.0))
    lookup(ax, 6.75, "attention: all keys, weighted", "sweet,\nlarge", soft_weights())
    ax.plot([6.5, 6.5], [0.3, 4.1], color=MUTED, lw=1, ls=":")
    for left in (0.05, 6.75):
        for x, text, colour in ((0.7, "query", QUERY), (2.7, "keys", KEY), (3.6, "values", VALUE)):
            write(ax, (left + x, 0.25), text, colour, bold=True)
        write(ax, (left + 4.55, 0.25), "weights", VALUE)
        write(ax, (left + 5.8, 0.25), "answer", WRONG, bold=True)
    save(figure, "attention_retrieval")


PITCH = 0.475  # of the rows of tokens


def sequences(ax: Axes, left: float, asking: Sequence[str], asked: Sequence[str]) -> None:
    """Draw tokens with queries, beside tokens with keys and values; one query meets all keys."""
    rows = [2.07 - PITCH * place for place in range(len(asked))]
    middle = (len(asked) - len(asking)) / 2
    for place, word in enumerate(asking):
        y = rows[0] - PITCH * (middle + place)
        box(ax, (left + 0.45, y), (0.9, 0.42), word, MUTED)
        box(ax, (left + 1.37, y), (0.84, 0.42), "query", QUERY)
        if place == 1:
            for row in rows:
                arrow(ax, (left + 1.83, y), (left + 3.03, row), QUERY, 1.8)
    for word, y in zip(asked, rows, strict=True):
        box(ax, (left + 3.38, y), (0.66, 0.42), "key", KEY)
        box(ax, (left + 4.15, y), (0.8, 0.42), "value", VALUE)
        box(ax, (left + 5.05, y), (0.9, 0.42), word, MUTED)


def draw_sources() -> None:
    """Contrast where the three vectors come from in self-attention and in cross-attention."""
    figure, ax = page(11.9, 2.7)
    english, french = ("the", "cat", "drank", "milk"), ("le", "chat")
    sequences(ax, 0.1, english, english)
    sequences(ax, 6.3, french, english)
    ax.plot([5.95, 5.95], [0.1, 2.65], color=MUTED, lw=1, ls=":")
    write(ax, (2.85, 2.52), "self-attention: one sequence", bold=True)
    write(ax, (9.05, 2.52), "cross-attention: two sequences", bold=True)
    names = ("English: $T_q$ = 4", "the same: $T_k$ = 4", "French: $T_q$ = 2", "English: $T_k$ = 4")
    for x, name in zip((1.0, 4.37, 7.2, 10.57), names, strict=True):
        write(ax, (x, 0.19), name)
    save(figure, "attention_sources")


def matrix(
    ax: Axes, corner: Point, name: str, rows: tuple[str, int, str], columns: tuple[str, int, str]
) -> None:
    """Draw a matrix to scale; `rows` and `columns` are (label, size, colour), as on its sides."""
    (x, y), (width, height) = corner, (UNIT * columns[1], UNIT * rows[1])
    ax.fill([x, x + width, x + width, x], [y, y, y + height, y + height], color=tint(MUTED, 0.15))
    for side in (x, x + width):
        ax.plot([side, side], [y, y + height], color=rows[2], lw=5, solid_capstyle="butt")
    for side in (y, y + height):
        ax.plot([x, x + width], [side, side], color=columns[2], lw=5, solid_capstyle="butt")
    write(ax, (x + width / 2, y + height / 2), name, bold=True)
    write(ax, (x - 0.28, y + height / 2), rows[0], rows[2])
    write(ax, (x + width / 2, y + height + 0.24), columns[0], columns[2])


def draw_shapes() -> None:
    """Draw both matrix products to scale, with matching sides in one colour."""
    figure, ax = page(9.4, 6.2, high=4.7)
    t_q, t_k = ("$T_q$", 5, QUERY), ("$T_k$", 7, KEY)
    d_k, d_v = ("$d_k$", 3, ACCENT), ("$d_v$", 4, VALUE)
    matrix(ax, (0.9, 3.9), "Q", t_q, d_k)
    write(ax, (2.2, 4.65), "×", size=24)
    matrix(ax, (2.95, 4.2), "Kᵀ", d_k, t_k)
    write(ax, (5.6, 4.65), "=", size=24)
    matrix(ax, (6.5, 3.9), "scores", t_q, t_k)
    matrix(ax, (0.9, 0.65), "weights", t_q, t_k)
    write(ax, (3.4, 1.4), "×", size=24)
    matrix(ax, (4.2, 0.35), "V", t_k, d_v)
    write(ax, (5.95, 1.4), "=", size=24)
    matrix(ax, (6.9, 0.65), "output", t_q, d_v)
    write(ax, (6.9, 3.3), "softmax of each row: scores → weights")
    save(figure, "attention_shapes")


def draw_pipeline() -> None:
    """Draw scaled dot-product attention as a chain of five boxes, with what it returns."""
    figure, ax = page(13.2, 3.5)
    steps = ("MatMul", "Scale\n1/$\\sqrt{d_k}$", "Mask\n(optional)", "Softmax\nper row", "MatMul")
    places = (1.9, 3.9, 5.9, 7.9, 9.9)
    for place, step in zip(places, steps, strict=True):
        box(ax, (place, 1.95), (1.3, 0.95), step, MUTED)
        if place < places[-1]:
            arrow(ax, (place + 0.68, 1.95), (place + 1.33, 1.95))
    for y, name, colour in ((2.7, "Q", QUERY), (1.2, "K", KEY)):
        box(ax, (0.45, y), (0.6, 0.6), name, colour)
        arrow(ax, (0.77, y), (1.23, 1.95 + 0.25 * (y - 1.95)), colour)
    for x, name, colour in ((9.9, "V", VALUE), (5.9, "mask", MUTED)):
        box(ax, (x, 3.15), (0.85, 0.5), name, colour)
        arrow(ax, (x, 2.88), (x, 2.45), colour)
    write(ax, (3.9, 1.1), "scores  $T_q × T_k$")
    _returned(ax)
    save(figure, "attention_pipeline")


def _returned(ax: Axes) -> None:
    """Draw the two results: the output from the last box, the weights from the softmax."""
    for y, name, shape in ((1.95, "output", "$T_q × d_v$"), (0.55, "weights", "$T_q × T_k$")):
        box(ax, (12.2, y), (1.7, 0.95), f"{name}\n{shape}", WRONG)
    arrow(ax, (10.58, 1.95), (11.33, 1.95))
    ax.plot([8.9, 8.9], [1.95, 0.55], color=INK, lw=2)
    arrow(ax, (8.9, 0.55), (11.33, 0.55))
    write(ax, (10.1, 0.8), "also returned", MUTED)


def draw_head() -> None:
    """Draw the head: three projections of the same tokens enter attention."""
    figure, ax = page(11.0, 3.9)
    box(ax, (0.85, 1.7), (1.3, 0.9), "x\nB, S, D", MUTED)
    rows = ((2.7, "w_q", "q", QUERY), (1.7, "w_k", "k", KEY), (0.7, "w_v", "v", VALUE))
    for y, layer, name, colour in rows:
        width = "D" if name == "v" else "$d_k$"
        arrow(ax, (1.52, 1.7), (2.23, y), INK)
        box(ax, (3.35, y), (2.2, 0.7), f"{layer}:  D → {width}", colour)
        arrow(ax, (4.47, y), (6.33, y), colour)
        write(ax, (5.35, y + 0.25), f"{name}:  B, S, {width}", colour)
    box(ax, (7.4, 1.7), (2.1, 2.7), "scaled\ndot-product\nattention", MUTED)
    write(ax, (7.4, 3.7), "mask (optional)", MUTED)
    arrow(ax, (7.4, 3.55), (7.4, 3.09), MUTED)
    arrow(ax, (8.47, 1.7), (9.3, 1.7))
    box(ax, (10.0, 1.7), (1.35, 0.9), "output\nB, S, D", WRONG)
    save(figure, "attention_head")


if __name__ == "__main__":
    draw_retrieval()
    draw_sources()
    draw_shapes()
    draw_pipeline()
    draw_head()
