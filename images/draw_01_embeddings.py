"""Draw the figures of lesson 1: `python images/draw_01_embeddings.py`."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from style import Point, arrow, box, page, save, shade, tint, write

from coursework.plots import KEY, MUTED, QUERY, VALUE, WRONG

WORDS = ("The", "·", "cat", "·", "sat", ".")
IDS = (8, 4, 17, 4, 23, 5)
VECTORS = {  # how dark each entry of a token's vector is drawn: equal ids, equal vectors
    4: (0.2, 0.71, 0.37, 0.54),
    5: (0.54, 0.54, 0.2, 0.71),
    8: (0.71, 0.2, 0.2, 0.37),
    17: (0.37, 0.2, 0.71, 0.71),
    23: (0.54, 0.37, 0.54, 0.2),
}
TABLE = ((0.0, 0.0, 0.0), (0.3, -1.2, 0.8), (1.1, 0.4, -0.5), (-0.7, 0.9, 0.2), (0.6, -0.1, 1.4))


def cells(ax: Axes, corner: Point, texts: Sequence[str], colour: str, size: Point = (0.62, 0.5)) -> None:
    """Draw a row of squares with a text in each, from its lower left corner."""
    for place, text in enumerate(texts):
        left, bottom = corner[0] + place * size[0], corner[1]
        x = [left, left + size[0], left + size[0], left]
        y = [bottom, bottom, bottom + size[1], bottom + size[1]]
        ax.fill(x, y, facecolor=tint(colour), edgecolor="white", lw=2)
        ax.text(left + size[0] / 2, bottom + size[1] / 2, text, ha="center", va="center")


def step(ax: Axes, y: float, name: str, shape: str) -> None:
    """Write what happens on the way down to a row, and the shape it leads to."""
    arrow(ax, (4.35, y + 0.62), (4.35, y + 0.12), MUTED)
    ax.text(4.6, y + 0.37, name, va="center", size=15, color=shade(QUERY), weight="bold")
    ax.text(8.35, y - 0.25, shape, va="center", color=shade(MUTED, 0.4))


def draw_pipeline() -> None:
    """Follow a sentence down from text to vectors."""
    figure, ax = page(11.2, 5.75, high=4.5)
    write(ax, (4.35, 5.4), "“The cat sat.”", size=18)
    ax.text(8.35, 5.4, "text: a string", va="center", color=shade(MUTED, 0.4))
    step(ax, 4.55, "tokenise", "tokens: a list of strings")
    cells(ax, (1.65, 4.05), WORDS, QUERY, (0.9, 0.5))
    step(ax, 3.4, "encode, with a vocabulary", "ids: (len,), int64")
    cells(ax, (1.65, 2.9), [str(number) for number in IDS], KEY, (0.9, 0.5))
    step(ax, 2.25, "pad_batch, with other sentences", "batch: (B, S)")
    cells(ax, (1.2, 1.75), [*map(str, IDS), "0", "0"], KEY, (0.79, 0.5))
    step(ax, 1.1, "TokenEmbedding", "vectors: (B, S, D)")
    for place in range(8):
        left = 1.2 + place * 0.79
        for number in range(4):
            colour = MUTED if place > 5 else VALUE
            strength = 0.15 if place > 5 else VECTORS[IDS[place]][number]
            x, y = [left + 0.06, left + 0.73, left + 0.73, left + 0.06], 0.2 + number * 0.19
            ax.fill(x, [y, y, y + 0.17, y + 0.17], facecolor=tint(colour, strength))
    save(figure, "embeddings_pipeline")


def draw_lookup() -> None:
    """Draw one-hot rows times the table: each picks out one row."""
    figure, ax = page(12.2, 4.4, high=3.35)
    picked, colours = (3, 1), (WRONG, VALUE)
    write(ax, (0.55, 3.7), "ids", bold=True)
    write(ax, (2.75, 3.7), "one-hot rows  (S, V)", bold=True)
    write(ax, (6.75, 3.7), "table  (V, D)", bold=True)
    write(ax, (10.6, 3.7), "vectors  (S, D)", bold=True)
    for line, (row, colour) in enumerate(zip(picked, colours, strict=True)):
        y = 2.2 - line * 0.62
        box(ax, (0.55, y), (0.6, 0.5), str(row), colour)
        for place in range(5):
            on = place == row
            left = 1.25 + 0.62 * place
            cells(ax, (left, y - 0.25), ["1" if on else "0"], colour if on else MUTED)
        numbers = [f"{number:.1f}".replace("-", "−") for number in TABLE[row]]
        cells(ax, (9.5, y - 0.25), numbers, colour, (0.75, 0.5))
    write(ax, (4.75, 1.9), "×", size=24)
    write(ax, (8.75, 1.9), "=", size=24)
    for row, numbers_of in enumerate(TABLE):
        y = 3.1 - row * 0.58
        colour = dict(zip(picked, colours, strict=True)).get(row, MUTED)
        texts = [f"{number:.1f}".replace("-", "−") for number in numbers_of]
        cells(ax, (5.65, y - 0.25), texts, colour, (0.75, 0.5))
        write(ax, (5.35, y), str(row), MUTED)
    write(ax, (6.75, 0.2), "one row per token", MUTED)
    save(figure, "embeddings_lookup")


def draw_path() -> None:
    """Contrast the chain of a recurrent network with attention's direct ways."""
    figure, ax = page(13.0, 4.0)
    words = ("the", "key", "under", "the", "bell", "is")
    for left, title in ((0.2, "LSTM: one word after another"), (6.8, "attention: all at once")):
        write(ax, (left + 3.0, 3.65), title, bold=True)
        for place, word in enumerate(words):
            x = left + 0.5 + place
            box(ax, (x, 0.45), (0.86, 0.5), word, KEY if place == 1 else MUTED)
            colour = WRONG if place == 5 else QUERY
            box(ax, (x, 2.0), (0.62, 0.55), f"$h_{place + 1}$", colour)
            if left < 1:
                arrow(ax, (x, 0.73), (x, 1.69), MUTED)
    for place in range(5):
        hot = place >= 1
        colour, width = (WRONG, 4.0) if hot else (MUTED, 2.0)
        arrow(ax, (1.02 + place, 2.0), (1.38 + place, 2.0), colour, width)
    for end in range(6):
        for place in range(6):
            colour = "#C4C4C4" if end == 5 else "#E8E8E8"
            ax.plot([7.3 + place, 7.3 + end], [0.72, 1.7], color=colour, lw=1.6, zorder=0)
    arrow(ax, (8.3, 0.72), (12.12, 1.69), WRONG, 4.0)
    write(ax, (3.2, 2.85), "from “key” to “is”: 4 steps", WRONG)
    write(ax, (9.8, 2.85), "from “key” to “is”: 1 step, at any distance", WRONG)
    save(figure, "embeddings_path")


if __name__ == "__main__":
    draw_pipeline()
    draw_lookup()
    draw_path()
