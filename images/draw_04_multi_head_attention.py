"""Draw the figures of lesson 4: `python images/draw_04_multi_head_attention.py`."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from style import INK, SIZE, Point, arrow, box, page, save, shade, tint, write

from coursework.head_plots import HEADS
from coursework.plots import KEY, MUTED, QUERY, VALUE, WRONG

WORDS = ("<sos>", "I", "like", "apples", "<eos>")
LETTERS = ("S", "I", "L", "A", "E")
OF_TOKEN = (MUTED, QUERY, KEY, VALUE, "#C9B800")
SIDE = 0.62


def cell(ax: Axes, corner: Point, text: str, colour: str, *, strength: float = 0.25) -> None:
    """Draw one number of a matrix, named, on a tint of its colour."""
    (x, y), side = corner, SIDE * 0.94
    shape = ([x, x + side, x + side, x], [y, y, y + side, y + side])
    ax.fill(*shape, color=tint(colour, strength))
    write(ax, (x + side / 2, y + side / 2), text, colour)


def numbers(ax: Axes, corner: Point, rows: Sequence[Sequence[tuple[int, int]]]) -> None:
    """Draw a matrix from its top left corner; an entry is (token, feature), both from 0."""
    for line, row in enumerate(rows):
        for place, (token, feature) in enumerate(row):
            at = (corner[0] + place * SIDE, corner[1] - (line + 1) * SIDE)
            cell(ax, at, f"{LETTERS[token]}{feature}", OF_TOKEN[token])


def frame(ax: Axes, corner: Point, columns: int, rows: int, colour: str) -> None:
    """Draw a frame around a block of cells, given its top left corner."""
    (x, top), width, height = corner, columns * SIDE, rows * SIDE
    left, right, low, high = x - 0.06, x + width + 0.02, top - height - 0.06, top + 0.02
    ax.plot([left, right, right, left, left], [low, low, high, high, low], color=colour, lw=3)


def words(ax: Axes, right: float, top: float, labels: Sequence[str] = WORDS) -> None:
    """Name the rows of a matrix, to its left."""
    for line, word in enumerate(labels):
        write(ax, (right - 0.66, top - (line + 0.55) * SIDE), word)


def draw_overview() -> None:
    """Draw the way of the sentence through two heads, with every shape."""
    figure, ax = page(14.8, 5.6)
    box(ax, (0.85, 2.8), (1.4, 1.0), "x\n1, 5, 6", MUTED)
    for y, name, own in ((4.4, "q", QUERY), (2.8, "k", KEY), (1.2, "v", VALUE)):
        arrow(ax, (1.57, 2.8), (2.18, y))
        box(ax, (3.0, y), (1.55, 0.8), f"w_{name}\n6 → 6", own)
        arrow(ax, (3.8, y), (4.4, y), own)
        box(ax, (5.05, y), (1.2, 0.8), f"{name}\n1, 5, 6", own)
        for target in (4.0, 1.6):
            arrow(ax, (5.68, y), (7.05, target + 0.28 * (y - 2.8)), own, 1.6)
    write(ax, (6.4, 5.3), "split: 1, 2, 5, 3", bold=True)
    for y, name, colour in ((4.0, "head 0", HEADS[0]), (1.6, "head 1", HEADS[1])):
        box(ax, (8.3, y), (2.4, 1.7), f"{name}: attention\nscores 5 × 5\nweights 5 × 5", colour)
        arrow(ax, (9.52, y), (10.13, 2.8 + 0.25 * (y - 2.8)), colour)
    write(ax, (9.95, 5.3), "each 1, 5, 3", bold=True)
    box(ax, (10.85, 2.8), (1.35, 1.0), "merge\n1, 5, 6", MUTED)
    arrow(ax, (11.55, 2.8), (11.9, 2.8))
    box(ax, (12.45, 2.8), (1.0, 1.0), "w_o\n6 → 6", MUTED)
    arrow(ax, (12.97, 2.8), (13.25, 2.8))
    box(ax, (13.97, 2.8), (1.35, 1.0), "output\n1, 5, 6", WRONG)
    save(figure, "heads_overview")


def token_rows(start: int, stop: int) -> list[list[tuple[int, int]]]:
    """Return features start to stop of each token, a row for each."""
    return [[(token, feature) for feature in range(start, stop)] for token in range(5)]


def in_memory_order(first: int, columns: int) -> list[list[tuple[int, int]]]:
    """Return five rows of numbers as they lie in memory, from number `first` on."""
    flat = [(token, feature) for token in range(5) for feature in range(6)]
    return [flat[first + columns * row : first + columns * (row + 1)] for row in range(5)]


def draw_split() -> None:
    """Contrast view and transpose with view alone."""
    figure, ax = page(13.8, 8.7, high=4.2)
    words(ax, 1.2, 5.8)
    numbers(ax, (1.2, 5.8), token_rows(0, 6))
    write(ax, (3.06, 6.2), "x: 5 tokens, 6 features", bold=True)
    write(ax, (3.06, 2.35), "in memory: row after row", MUTED)
    _ways(ax, (5.3, 4.3))
    for head, x in enumerate((7.8, 11.2)):
        write(ax, (x + 0.93, 8.4), f"head {head}", HEADS[head], bold=True)
        words(ax, x, 8.1)
        numbers(ax, (x, 8.1), token_rows(3 * head, 3 * head + 3))
        frame(ax, (x, 8.1), 3, 5, HEADS[head])
        words(ax, x, 3.8)
        numbers(ax, (x, 3.8), in_memory_order(15 * head, 3))
        frame(ax, (x, 3.8), 3, 5, HEADS[head])
    write(ax, (10.2, 4.65), "right: view(5, 2, 3), then transpose", VALUE, bold=True)
    write(ax, (10.2, 0.3), "wrong: view(2, 5, 3)", WRONG, bold=True)
    save(figure, "heads_split")


def _ways(ax: Axes, start: Point) -> None:
    """Draw two arrows from a point, one up to the right way and one down to the wrong one."""
    arrow(ax, start, (start[0] + 0.9, start[1] + 1.3), VALUE, 3)
    arrow(ax, start, (start[0] + 0.9, start[1] - 1.5), WRONG, 3)


def draw_merge() -> None:
    """Contrast transpose and reshape with reshape alone, starting from the heads."""
    figure, ax = page(13.6, 8.7, high=4.4)
    for head, top in enumerate((8.0, 3.9)):
        write(ax, (2.13, top + 0.3), f"head {head}", HEADS[head], bold=True)
        words(ax, 1.2, top)
        numbers(ax, (1.2, top), token_rows(3 * head, 3 * head + 3))
        frame(ax, (1.2, top), 3, 5, HEADS[head])
    _ways(ax, (4.2, 4.3))
    words(ax, 7.2, 8.0)
    numbers(ax, (7.2, 8.0), token_rows(0, 6))
    write(ax, (9.06, 8.35), "right: transpose, then reshape", VALUE, bold=True)
    flat = [entry for head in (0, 1) for row in token_rows(3 * head, 3 * head + 3) for entry in row]
    wrong = [flat[6 * row : 6 * row + 6] for row in range(5)]
    words(ax, 7.2, 3.9)
    numbers(ax, (7.2, 3.9), wrong)
    write(ax, (9.06, 4.25), "wrong: reshape", WRONG, bold=True)
    for row, half in ((row, half) for row in range(5) for half in (0, 3)):
        if wrong[row][half][0] > row:
            frame(ax, (7.2 + half * SIDE, 3.9 - row * SIDE), 3, 1, WRONG)
    write(ax, (12.3, 2.9), "framed: a row\nreads a later\ntoken", WRONG, bold=True)
    save(figure, "heads_merge")


def block(ax: Axes, corner: Point, size: tuple[int, int], colour: str, text: str) -> None:
    """Draw a block of (columns, rows) empty cells, named, given its top left corner."""
    for column in range(size[0]):
        for row in range(size[1]):
            at = (corner[0] + column * SIDE, corner[1] - (row + 1) * SIDE)
            cell(ax, at, "", colour)
    middle = (corner[0] + size[0] * SIDE / 2, corner[1] - size[1] * SIDE / 2)
    name = ax.text(*middle, text, color=shade(colour), size=SIZE, weight="bold", ha="center", va="center")
    # The name covers the lines between the cells, which would strike it through.
    name.set_bbox({"facecolor": tint(colour, 0.25), "edgecolor": "none", "pad": 2})


def draw_weights() -> None:
    """Draw the heads' matrices of the paper, and the weight of the layer that holds them."""
    figure, ax = page(12.6, 4.4)
    for x, name, colour in ((0.5, "$W_0^Q$", HEADS[0]), (2.3, "$W_1^Q$", HEADS[1])):
        block(ax, (x, 3.6), (2, 4), colour, name)
    write(ax, (2.0, 4.05), "in the paper: 4 × 2 each", bold=True)
    write(ax, (4.2, 2.35), "=", size=24)
    for x, name, colour in ((5.0, "$W_0^Q$", HEADS[0]), (5.0 + 2 * SIDE, "$W_1^Q$", HEADS[1])):
        block(ax, (x, 3.6), (2, 4), colour, name)
    write(ax, (6.24, 4.05), "$W^Q$: 4 × 4", bold=True)
    arrow(ax, (7.75, 2.35), (8.9, 2.35), INK, 2.5)
    write(ax, (8.32, 2.75), "transpose")
    for line, name, colour in ((0, "head 0: rows 0, 1", HEADS[0]), (2, "head 1: rows 2, 3", HEADS[1])):
        block(ax, (9.3, 3.6 - line * SIDE), (4, 2), colour, name)
    write(ax, (10.54, 4.05), "w_q.weight in PyTorch", bold=True)
    write(ax, (2.0, 0.6), "x times W: columns are outputs", MUTED)
    write(ax, (10.3, 0.6), "x times the transpose: rows are outputs", MUTED)
    save(figure, "heads_weights")


if __name__ == "__main__":
    draw_overview()
    draw_split()
    draw_merge()
    draw_weights()
