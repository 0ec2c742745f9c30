"""Draw the figures of lesson 7: `python images/draw_07_transformer.py`."""

import itertools

from matplotlib.axes import Axes
from matplotlib.patches import FancyArrowPatch, Rectangle
from style import INK, arrow, box, page, save, shade, tint, write

from coursework.plots import ACCENT, KEY, MUTED, QUERY, VALUE, WRONG

ENCODER = (
    ("1", "source ids", "B, S", MUTED),
    ("2", "source vectors", "B, S, D", KEY),
    ("3", "self-attention: weights", "B, H, S, S", ACCENT),
    ("4", "self-attention: output", "B, S, D", KEY),
    ("5", "feed-forward: hidden features", "B, S, F", VALUE),
    ("6", "memory", "B, S, D", KEY),
)
DECODER = (
    ("7", "decoder input", "B, T", MUTED),
    ("8", "target vectors", "B, T, D", QUERY),
    ("9", "self-attention: weights", "B, H, T, T", ACCENT),
    ("10", "cross-attention: weights", "B, H, T, S", ACCENT),
    ("11", "cross-attention: output", "B, T, D", QUERY),
    ("12", "feed-forward: hidden features", "B, T, F", VALUE),
    ("13", "logits", "B, T, V", WRONG),
    ("14", "probabilities", "B, T, V", WRONG),
)
STEP = 0.92
ROOM = 0.5
REST = "linear 2, add, norm"  # the rest of a layer, after tensors 5 and 12


def column(ax: Axes, x: float, rows: tuple[tuple[str, str, str, str], ...], layer: int) -> list[float]:
    """Draw the tensors of one half from the bottom up, and return how high each stands.

    There is more room above the last tensor of a layer, row `layer`.
    """
    heights = [0.75 + STEP * place + ROOM * (place > layer) for place in range(len(rows))]
    for y, (number, name, shape, colour) in zip(heights, rows, strict=True):
        box(ax, (x, y), (7.0, 0.62), "", colour)
        write(ax, (x - 3.15, y), number, colour, bold=True)
        ax.text(x - 2.75, y, name, ha="left", va="center", color=INK)
        ax.text(x + 3.35, y, shape, ha="right", va="center", color=shade(colour), weight="bold")
    for low, high in itertools.pairwise(heights):
        arrow(ax, (x, low + 0.32), (x, high - 0.33), MUTED, 1.5)
    return heights


def draw_tensors() -> None:
    """Draw the fourteen tensors on their way through both halves."""
    figure, ax = page(17.6, 8.6)
    for x, low, high, side in ((4.4, 2.14, 5.12, 0.4), (13.2, 2.14, 6.04, 17.2)):
        ax.add_patch(Rectangle((x - 3.65, low), 7.3, high - low, fc="#F0F0F0", ec=MUTED, lw=1.2, ls=":"))
        ax.text(side, (low + high) / 2, "each of N layers", rotation=90, ha="center",
                va="center", color=shade(MUTED))  # fmt: skip
    left, right = column(ax, 4.4, ENCODER, 4), column(ax, 13.2, DECODER, 5)
    for x, top in ((4.4, left[4]), (13.2, right[5])):
        ax.text(x + 0.15, top + 0.5, REST, ha="left", va="center", color=shade(MUTED))
    ax.text(13.35, right[5] + 0.92, "projection", ha="left", va="center", color=shade(MUTED))
    write(ax, (4.4, left[-1] + 0.72), "Encoder", KEY, bold=True)
    write(ax, (13.2, right[-1] + 0.6), "Decoder", QUERY, bold=True)
    path = "arc3,rad=-0.3"
    line = FancyArrowPatch((7.95, left[5]), (9.65, right[3]), connectionstyle=path, arrowstyle="-|>")
    line.set(color=KEY, linewidth=3, mutation_scale=20)
    ax.add_patch(line)
    write(ax, (8.8, 6.9), "keys and\nvalues", KEY)
    save(figure, "transformer_tensors")


def mask(ax: Axes, left: float, title: str, size: tuple[int, int], seen: list[list[bool]]) -> None:
    """Draw one mask as a grid: filled cells may be attended to, crossed-out ones may not."""
    unit, top = 0.4, 3.5
    for row in range(size[0]):
        for column_ in range(size[1]):
            x, y = left + unit * column_, top - unit * (row + 1)
            colour = tint(QUERY, 0.75) if seen[row][column_] else "#EFEFEF"
            ax.add_patch(Rectangle((x, y), unit, unit, fc=colour, ec="white", lw=2))
            if not seen[row][column_]:
                write(ax, (x + unit / 2, y + unit / 2), "×", MUTED)
    middle = left + unit * size[1] / 2
    write(ax, (middle, top + 0.55), title, bold=True)
    names = {7: "source", 5: "target"}
    write(ax, (middle, top + 0.2), f"keys: {names[size[1]]}", KEY)
    ax.text(left - 0.2, top - unit * size[0] / 2, f"queries: {names[size[0]]}", rotation=90,
            ha="center", va="center", color=QUERY)  # fmt: skip


def draw_masks() -> None:
    """Draw the three masks, for seven source tokens (two of them padding) and five target tokens (one)."""
    figure, ax = page(10.6, 4.5, high=3.45)
    source, target = [key < 5 for key in range(7)], [key < 4 for key in range(5)]
    causal = [[key <= query and target[key] for key in range(5)] for query in range(5)]
    mask(ax, 0.7, "encoder self-attention", (7, 7), [source] * 7)
    mask(ax, 4.6, "decoder self-attention", (5, 5), causal)
    mask(ax, 7.5, "cross-attention", (5, 7), [source] * 5)
    write(ax, (6.9, 0.45), "blue: may be attended to     ×: hidden", MUTED)
    save(figure, "transformer_masks")


def gone(ax: Axes, at: tuple[float, float], text: str) -> None:
    """Draw a part that is taken away: dashed, and grey."""
    corner = (at[0] - 1.35, at[1] - 0.28)
    ax.add_patch(Rectangle(corner, 2.7, 0.56, fc="none", ec=MUTED, lw=2, ls="--"))
    write(ax, at, text, MUTED)


def draw_decoder_only() -> None:
    """Contrast encoder and decoder with a decoder that stands alone."""
    figure, ax = page(11.9, 4.55)
    first, second, alone = 1.6, 5.2, 9.8
    write(ax, (3.4, 4.35), "encoder and decoder", bold=True)
    write(ax, (alone, 4.35), "decoder only", bold=True)
    write(ax, (first, 0.4), "source sentence", MUTED)
    for y, text in ((1.25, "self-attention"), (2.1, "feed-forward")):
        gone(ax, (first, y), text)
    gone(ax, (second, 2.1), "cross-attention")
    for start, end in (((first, 0.6), (first, 0.95)), ((first, 1.55), (first, 1.8))):
        arrow(ax, start, end, MUTED)
    arrow(ax, (first + 1.37, 2.1), (second - 1.37, 2.1), MUTED)
    for x in (second, alone):
        box(ax, (x, 1.25), (2.7, 0.56), "masked self-attention", QUERY)
        box(ax, (x, 2.95), (2.7, 0.56), "feed-forward", VALUE)
        arrow(ax, (x, 0.65), (x, 0.95))
        arrow(ax, (x, 3.25), (x, 3.5))
    arrow(ax, (second, 1.55), (second, 1.8))
    arrow(ax, (second, 2.4), (second, 2.65))
    arrow(ax, (alone, 1.55), (alone, 2.65))
    write(ax, (second, 0.4), "target, shifted right", QUERY)
    write(ax, (second, 3.75), "target", WRONG)
    for place, (read, said) in enumerate(itertools.pairwise(("to", "be", "or", "not", "to"))):
        x = alone + 0.8 * (place - 1.5)
        box(ax, (x, 0.4), (0.74, 0.44), read, QUERY)
        box(ax, (x, 3.75), (0.74, 0.44), said, WRONG)
    ax.plot([7.4, 7.4], [0.2, 4.45], color=MUTED, lw=1, ls=":")
    write(ax, (first, 3.2), "dashed:\ntaken away", MUTED)
    save(figure, "transformer_decoder_only")


def draw_greedy() -> None:
    """Draw four steps of greedy decoding."""
    figure, ax = page(11.6, 4.9, high=4.1)
    box(ax, (1.5, 2.4), (2.4, 0.8), "les convolutions\nsont mortes", KEY)
    arrow(ax, (1.5, 2.82), (1.5, 3.38), KEY)
    box(ax, (1.5, 3.8), (2.2, 0.8), "memory", KEY)
    write(ax, (1.5, 1.65), "encoded once", KEY)
    words = ("<sos>", "convolutions", "are", "dead", "<eos>")
    lefts, widths = (4.1, 5.45, 7.3, 8.3, 9.4), (1.15, 1.7, 0.85, 0.95, 1.15)
    for step in range(4):
        y = 4.2 - 1.1 * step
        for place in range(step + 1):
            box(ax, (lefts[place] + widths[place] / 2, y), (widths[place], 0.6), words[place], QUERY)
        end = lefts[step] + widths[step]
        arrow(ax, (end + 0.05, y), (end + 0.75, y), WRONG)
        said = widths[step + 1]
        box(ax, (end + 0.8 + said / 2, y), (said, 0.6), words[step + 1], WRONG)
        arrow(ax, (2.65, 3.75), (4.0, y), KEY, 1.2)
    legend = "blue: what the decoder reads     orange: what it predicts, and reads next"
    write(ax, (7.2, 0.28), legend, MUTED)
    save(figure, "transformer_greedy")


if __name__ == "__main__":
    draw_tensors()
    draw_masks()
    draw_greedy()
    draw_decoder_only()
