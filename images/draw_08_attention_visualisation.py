"""Draw the figures of lesson 8: `python images/draw_08_attention_visualisation.py`."""

from itertools import pairwise

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from style import INK, arrow, box, page, save, shade, tint, write

from coursework.plots import ACCENT, KEY, MUTED, QUERY, VALUE, WRONG

QUERIES = ("<sos>", "four", "hundred", "and", "seven")
KEYS = ("4", "0", "7", "<eos>", "<pad>")
WEIGHTS = (
    (0.80, 0.10, 0.05, 0.05, 0.00),
    (0.10, 0.70, 0.15, 0.05, 0.00),
    (0.05, 0.45, 0.40, 0.10, 0.00),
    (0.05, 0.10, 0.75, 0.10, 0.00),
    (0.05, 0.05, 0.10, 0.80, 0.00),
)
FIRST = ((0.8, 0.1, 0.1), (0.3, 0.6, 0.1), (0.2, 0.3, 0.5))
SECOND = ((0.7, 0.2, 0.1), (0.1, 0.8, 0.1), (0.3, 0.2, 0.5))


def cell(ax: Axes, corner: tuple[float, float], size: tuple[float, float], weight: float) -> None:
    """Draw one weight, the darker the larger."""
    ax.add_patch(Rectangle(corner, *size, fc=tint(QUERY, 0.05 + 0.85 * weight), ec="white", lw=2))
    colour = "white" if weight > 0.6 else INK
    ax.text(corner[0] + size[0] / 2, corner[1] + size[1] / 2, f"{weight:.2f}", color=colour,
            ha="center", va="center")  # fmt: skip


def draw_map() -> None:
    """Draw one map with a row and a column framed."""
    figure, ax = page(11.6, 5.6, high=3.5)
    left, top, width, height = 3.85, 4.3, 1.05, 0.66
    for row, (query, weights) in enumerate(zip(QUERIES, WEIGHTS, strict=True)):
        y = top - height * (row + 1)
        ax.text(left - 0.2, y + height / 2, query, size=15, ha="right", va="center", color=shade(QUERY))
        for column, weight in enumerate(weights):
            cell(ax, (left + width * column, y), (width, height), weight)
    for column, key in enumerate(KEYS):
        write(ax, (left + width * (column + 0.5), top + 0.28), key, KEY)
    write(ax, (left + width * 2.5, top + 0.85), "keys: what is attended to (the source)", KEY, bold=True)
    ax.text(0.2, top - height * 2.5, "queries: what is\nbeing computed\n(the target)", size=15, weight="bold",
            ha="left", va="center", color=shade(QUERY))  # fmt: skip
    right, bottom = left + width * 5, top - height * 5
    ax.add_patch(Rectangle((left, top - height * 3), width * 5, height, fill=False, ec=WRONG, lw=3.5))
    row = "one row: a query\nsums to 1"
    ax.text(right + 0.2, top - height * 2.5, row, va="center", color=shade(WRONG))
    ax.add_patch(Rectangle((left + width, bottom), width, height * 5, fill=False, ec=VALUE, lw=3.5))
    write(ax, (left + width * 1.5, bottom - 0.35), "one column: a key", VALUE)
    write(ax, (left + width * 1.5, bottom - 0.78), "sums to anything (here 1.40)", VALUE)
    write(ax, (left + width * 4.9, bottom - 0.35), "padding: always 0", MUTED)
    save(figure, "visualisation_map")


def matrix(ax: Axes, left: float, top: float, rows: tuple[tuple[float, ...], ...], name: str) -> None:
    """Draw a small matrix under its name, with a frame around what the sum below is made of."""
    unit = 0.72
    corner, size = {
        "layer 1": ((left, top - 3 * unit), (3 * unit, unit)),
        "layer 0": ((left, top - 3 * unit), (unit, 3 * unit)),
        "rollout": ((left, top - 3 * unit), (unit, unit)),
    }[name]
    for i, row in enumerate(rows):
        for j, weight in enumerate(row):
            cell(ax, (left + unit * j, top - unit * (i + 1)), (unit, unit), weight)
    ax.add_patch(Rectangle(corner, *size, fill=False, ec=ACCENT if name == "layer 0" else WRONG, lw=3.5))
    write(ax, (left + 1.5 * unit, top + 0.28), name, bold=True)


def draw_rollout() -> None:
    """Draw the paths from position 2 down to the tokens, and the product beside them."""
    figure, ax = page(13.8, 4.8, high=3.6)
    x, levels = (1.9, 3.5, 5.1), (0.8, 2.4, 4.0)
    for level, (y, name) in enumerate(zip(levels, ("tokens", "above layer 0", "above layer 1"), strict=True)):
        write(ax, (0.72, y), name.replace("above ", "above\n"), MUTED)
        for place in range(3):
            colour = QUERY if level < 2 else (MUTED, MUTED, WRONG)[place]
            box(ax, (x[place], y), (0.9, 0.56), f"{place}", colour)
    for place, weight in enumerate(SECOND[2]):
        end = (x[2] - 0.3 + 0.3 * place, levels[2] - 0.3)
        arrow(ax, (x[place], levels[1] + 0.3), end, WRONG, 1 + 8 * weight)
        spot = ((2.2, 3.3), (4.45, 2.8), (5.62, 3.15))[place]
        write(ax, spot, f"{weight:.1f}", WRONG, bold=True)
    for middle in range(3):
        weight = FIRST[middle][0]
        start = (x[0] - 0.25 + 0.25 * middle, levels[0] + 0.3)
        arrow(ax, start, (x[middle], levels[1] - 0.3), ACCENT, 1 + 8 * weight)
        spot = ((1.3, 1.6), (2.75, 1.95), (4.55, 1.72))[middle]
        write(ax, spot, f"{weight:.1f}", ACCENT, bold=True)
    rollout = tuple(
        tuple(sum(SECOND[i][k] * FIRST[k][j] for k in range(3)) for j in range(3)) for i in range(3)
    )
    for left, rows, name in ((6.2, SECOND, "layer 1"), (8.8, FIRST, "layer 0"), (11.4, rollout, "rollout")):
        matrix(ax, left, 3.6, rows, name)
    write(ax, (8.58, 2.52), "×", size=20)
    write(ax, (11.18, 2.52), "=", size=20)
    said = "position 2, token 0:   0.3 · 0.8  +  0.2 · 0.3  +  0.5 · 0.2  =  0.40"
    write(ax, (9.85, 0.75), said, WRONG)
    save(figure, "visualisation_rollout")


PARAGRAPH = ("Tom", "Reed", "and", "later", "Ada", "Holm", "kept", "the", "light")
STARTS = (2.9, -1.2, -2.6, -0.4, 3.0, -0.9, -3.1, -2.2, -2.8)  # made up, as the ends are
ENDS = (-0.8, 3.1, -2.7, -1.9, -0.6, 2.8, -2.9, -3.3, -1.5)


def centre_of(token: int) -> float:
    """Return where a token of the paragraph stands."""
    return 2.45 + 1.03 * token


def logits_row(ax: Axes, y: float, name: str, logits: tuple[float, ...], colour: str) -> None:
    """Draw a logit under each token, with a frame around the highest."""
    write(ax, (1.0, y), name, colour, bold=True)
    for token, logit in enumerate(logits):
        corner = (centre_of(token) - 0.48, y - 0.24)
        strength = 0.1 + 0.45 * (logit - min(logits)) / (max(logits) - min(logits))
        highest = logit == max(logits)
        edge, width = (shade(colour), 3.5) if highest else ("white", 2)
        ax.add_patch(Rectangle(corner, 0.96, 0.48, fc=tint(colour, strength), ec=edge, lw=width))
        write(ax, (centre_of(token), y), f"{logit:.1f}".replace("-", "−"), bold=highest)


def candidate(ax: Axes, y: float, span: tuple[int, int], said: str, colour: str) -> None:
    """Draw an arrow from the start of a span to its end, with the sum of its two logits."""
    start, end = span
    way = 0.4 if start <= end else -0.1
    arrow(ax, (centre_of(start) - way, y), (centre_of(end) + way, y), colour, 3)
    total = f"{STARTS[start]} + {ENDS[end]} = {STARTS[start] + ENDS[end]:.1f}{said}"
    at = centre_of(max(span)) + 0.6
    ax.text(at, y, total, size=15, ha="left", va="center", color=shade(colour))


def draw_span() -> None:
    """Draw start and end logits, the pair of the two highest, and the two best spans."""
    figure, ax = page(11.9, 3.8, high=3.2)
    write(ax, (centre_of(4), 3.58), "question: Who kept the light?", bold=True)
    for token, word in enumerate(PARAGRAPH):
        write(ax, (centre_of(token), 3.1), word)
    logits_row(ax, 2.6, "start logits", STARTS, VALUE)
    logits_row(ax, 2.05, "end logits", ENDS, ACCENT)
    highest = (STARTS.index(max(STARTS)), ENDS.index(max(ENDS)))
    candidate(ax, 1.4, highest, ": ends before it starts", WRONG)
    spans = [(i, j) for i in range(len(STARTS)) for j in range(i, len(STARTS))]
    best, second = sorted(spans, key=lambda span: -STARTS[span[0]] - ENDS[span[1]])[:2]
    candidate(ax, 0.85, best, ", the best span", QUERY)
    candidate(ax, 0.3, second, "", MUTED)
    save(figure, "visualisation_span")


def draw_reader() -> None:
    """Draw the reader from left to right, and below it one matrix with its low-rank update."""
    figure, ax = page(11.9, 3.7)
    y, height = 3.0, 1.0
    steps = (
        (1.1, 2.0, "question and\nparagraph", MUTED), (3.5, 1.9, "layers 0 and 1", MUTED),
        (5.9, 1.9, "layers 2 to 5\n$W + BA$", KEY), (8.2, 1.6, "span head", KEY),
        (10.75, 2.1, "a start logit and\nan end logit\nfor each token", MUTED),
    )  # fmt: skip
    for x, width, text, colour in steps:
        box(ax, (x, y), (width, height), text, colour)
    for (x, width, _, _), (after, next_width, _, _) in pairwise(steps):
        arrow(ax, (x + width / 2 + 0.02, y), (after - next_width / 2 - 0.02, y))
    low, side, thin = 0.65, 1.3, 0.16
    matrices = (
        (3.3, low, side, side, MUTED), (5.75, low, thin, side, KEY),
        (6.95, low + (side - thin) / 2, side, thin, KEY),
    )  # fmt: skip
    for x, bottom, width, tall, colour in matrices:
        ax.add_patch(Rectangle((x, bottom), width, tall, fc=tint(colour, 0.4), ec=colour, lw=2))
    write(ax, (3.95, 1.3), "$W$", size=17)
    write(ax, (5.15, 1.3), "+", size=22)
    write(ax, (6.43, 1.3), "×", size=22)
    for x, text in ((3.95, "stays as it is"), (5.83, "$B$: 8 columns"), (7.75, "$A$: 8 rows")):
        write(ax, (x, 0.3), text)
    write(ax, (10.2, 1.3), "orange:\ntrained by us", KEY)
    ax.plot([5.9, 5.9], [2.45, 2.1], color=KEY, lw=2, ls=":")
    save(figure, "visualisation_reader")


if __name__ == "__main__":
    draw_map()
    draw_rollout()
    draw_span()
    draw_reader()
