"""Draw the figures of lesson 6: `python images/draw_06_decoder.py`."""

from collections.abc import Sequence
from itertools import pairwise

from matplotlib.axes import Axes
from style import INK, Point, arrow, box, page, save, shade, write

from coursework.plots import ACCENT, KEY, MUTED, QUERY, VALUE, WRONG

TARGET = ("the", "cat", "drinks", "milk", "<eos>")


def draw_steps() -> None:
    """Draw four steps of generating: what each step predicts is fed back as the next step's input."""
    figure, ax = page(14.5, 2.15)
    unit, left = 1.06, 0.6
    for step, word in enumerate(TARGET[:4]):
        read = ("<sos>", *TARGET[:step])
        end = left + max(1.35, unit * len(read))
        places = [end - unit * (len(read) - place - 0.5) for place in range(len(read))]
        for place, token in zip(places, read, strict=True):
            colour = WRONG if step and token == read[-1] else QUERY
            box(ax, (place, 0.59), (unit - 0.05, 0.42), token, colour, font=16)
            arrow(ax, (place, 0.81), (place, 0.97), QUERY, 1.5)
        box(ax, ((left + end) / 2, 1.2), (end - left, 0.44), "decoder", MUTED, font=16)
        write(ax, (left - 0.46, 1.2), "$x$", KEY, size=17)
        arrow(ax, (left - 0.32, 1.2), (left - 0.02, 1.2), KEY, 1.5)
        arrow(ax, (places[-1], 1.43), (places[-1], 1.67), WRONG)
        box(ax, (places[-1], 1.9), (unit - 0.05, 0.42), word, WRONG, font=16)
        if step < 3:
            down, after = end + 0.2, end + 0.95 + unit * (len(read) + 0.5)
            ax.plot([places[-1] + 0.52, down, down, after], [1.9, 1.9, 0.1, 0.1], color=WRONG, lw=2)
            arrow(ax, (after, 0.09), (after, 0.37), WRONG)
        left = end + 0.95
    save(figure, "decoder_steps")


def draw_shift() -> None:
    """Draw target and shifted input, one above the other."""
    figure, ax = page(10.4, 3.6)
    places = [2.7 + 1.55 * i for i in range(5)]
    for i, (x, word) in enumerate(zip(places, TARGET, strict=True)):
        box(ax, (x, 2.9), (1.25, 0.7), word, VALUE)
        box(ax, (x, 0.7), (1.25, 0.7), ("<sos>", *TARGET)[i], QUERY)
        arrow(ax, (x - 0.35, 1.1), (x - 0.35, 2.5), MUTED)
        if i < 4:
            arrow(ax, (x + 0.3, 2.5), (places[i + 1] + 0.1, 1.1), ACCENT)
    write(ax, (0.95, 3.05), "target", VALUE, bold=True)
    write(ax, (0.95, 2.75), "to be predicted", VALUE)
    write(ax, (0.95, 0.85), "input", QUERY, bold=True)
    write(ax, (0.95, 0.55), "shifted right", QUERY)
    arrow(ax, (places[4] + 0.3, 2.5), (places[4] + 0.75, 2.05), ACCENT)
    write(ax, (9.85, 1.65), "<eos> is\ndropped", ACCENT)
    save(figure, "decoder_shift")


def around(ax: Axes, x: float, low: float, high: float, side: float) -> None:
    """Draw a residual connection: out to `side` at `low`, back in at `high`."""
    ax.plot([x, side, side], [low, low, high], color=VALUE, lw=2)
    end = x + (0.95 if side > x else -0.95)
    arrow(ax, (side, high), (end, high), VALUE)


def ladder(ax: Axes, x: float, steps: Sequence[tuple[float, str, str]], width: float) -> None:
    """Draw boxes above each other, joined by arrows."""
    for (low, low_text, _), (high, high_text, _) in pairwise(steps):
        arrow(ax, (x, low + _half(low_text)), (x, high - _half(high_text) - 0.02))
    for y, text, colour in steps:
        size = (1.9, 0.44) if _is_small(text) else (width, 0.7)
        box(ax, (x, y), size, text, colour)


def _is_small(text: str) -> bool:
    return text.startswith(("add", "norm")) or text == "x"


def _half(text: str) -> float:
    return 0.22 if _is_small(text) else 0.35


def draw_layer() -> None:
    """Draw the decoder layer from bottom to top."""
    figure, ax = page(10.6, 8.0, high=5.2)
    x = 6.4
    steps = [
        (0.45, "x", MUTED), (1.75, "masked self-attention", QUERY), (2.7, "add, norm1", MUTED),
        (3.95, "cross-attention", KEY), (4.9, "add, norm2", MUTED), (6.1, "feed-forward", ACCENT),
        (7.0, "add, norm3", MUTED),
    ]  # fmt: skip
    ladder(ax, x, steps, 3.2)
    arrow(ax, (x, 7.24), (x, 7.72))
    write(ax, (x + 1.05, 7.6), "B, T, D")
    write(ax, (x + 1.6, 0.45), "B, T, D")
    for low, high in ((0.95, 2.7), (3.2, 4.9), (5.4, 7.0)):
        around(ax, x, low, high, x + 2.2)
    write(ax, (x + 3.15, 1.85), "residual\nconnection", VALUE)
    write(ax, (x - 0.85, 1.2), "q, k, v", QUERY)
    write(ax, (x + 0.35, 3.4), "q", QUERY)
    _memory(ax, (1.35, 3.95), x - 1.6)
    for y, text in ((1.75, "self mask\nB, T, T"), (5.1, "memory mask\nB, 1, S")):
        write(ax, (2.6 if y < 3 else 3.4, y), text, MUTED)
    arrow(ax, (3.4, 1.75), (x - 1.63, 1.75), MUTED)
    arrow(ax, (4.2, 4.95), (x - 1.3, 4.33), MUTED)
    save(figure, "decoder_layer")


def _memory(ax: Axes, centre: Point, until: float) -> None:
    """Draw the memory and the two arrows that leave it."""
    box(ax, centre, (2.0, 1.1), "memory\nB, S, D", KEY)
    for shift, name in ((0.2, "k"), (-0.2, "v")):
        colour = KEY if name == "k" else VALUE
        arrow(ax, (centre[0] + 1.02, centre[1] + shift), (until - 0.03, centre[1] + shift), colour)
        write(ax, (until - 0.9, centre[1] + 2.1 * shift), name, colour)


def draw_stack() -> None:
    """Draw the decoder from left to right, with the memory above."""
    figure, ax = page(13.6, 4.1)
    y = 1.5
    row: list[tuple[float, float, str, str]] = [
        (0.75, 1.1, "ids\nB, T", MUTED), (2.6, 1.6, "embedding", QUERY), (4.55, 1.4, "position", QUERY),
        (6.3, 1.2, "layer 1", KEY), (7.9, 1.2, "layer 2", KEY), (9.5, 1.2, "layer 3", KEY),
        (11.2, 1.4, "project\nD → V", VALUE),
    ]  # fmt: skip
    for (x, width, _, _), (after, next_width, _, _) in pairwise(row):
        arrow(ax, (x + width / 2 + 0.02, y), (after - next_width / 2 - 0.02, y))
    for x, width, text, colour in row:
        box(ax, (x, y), (width, 1.0), text, colour)
    box(ax, (7.9, 3.5), (4.4, 0.7), "memory  B, S, D", KEY)
    for x in (6.3, 7.9, 9.5):
        arrow(ax, (x, 3.13), (x, 2.03), KEY)
    write(ax, (4.3, 3.5), "own keys, own values\nin every layer", KEY)
    write(ax, (5.35, 0.55), "B, T, D")
    write(ax, (12.85, 1.62), "logits\nB, T, V", VALUE)
    arrow(ax, (11.92, y), (12.3, y))
    ax.plot([12.85, 12.85], [2.05, 2.95], color=MUTED, lw=2, ls=":")
    write(ax, (12.85, 3.3), "outside:\nsoftmax", MUTED)
    save(figure, "decoder_stack")


def stream(ax: Axes, x: float, points: Sequence[float]) -> None:
    """Draw the residual stream: one straight line upwards, its last point an arrow head."""
    ax.plot([x, x], [points[0], points[-1] - 0.3], color=shade(VALUE, 0.1), lw=5, zorder=0)
    arrow(ax, (x, points[-1] - 0.35), (x, points[-1]), shade(VALUE, 0.1), 5)


def branch(ax: Axes, x: float, low: float, steps: Sequence[tuple[float, str, str]], high: float) -> None:
    """Draw a branch: out of the residual stream at `low`, up through boxes, into a sum at `high`."""
    side = x - 2.3
    ax.plot([x, side], [low, low], color=INK, lw=2)
    at = low
    for y, text, colour in steps:
        arrow(ax, (side, at), (side, y - _half(text) - 0.02))
        box(ax, (side, y), (1.5, 0.44) if _is_small(text) else (3.3, 0.7), text, colour)
        at = y + _half(text)
    ax.plot([side, side], [at, high], color=INK, lw=2)
    arrow(ax, (side, high), (x - 0.25, high))
    ax.plot(x, high, marker="o", markersize=24, mfc="white", mec=INK, mew=2)
    write(ax, (x, high), "+", size=18, bold=True)


def draw_blocks() -> None:
    """Draw the decoder layer and the GPT block side by side, each along its residual stream."""
    figure, ax = page(13.6, 8.6)
    post, pre = 5.9, 11.6
    write(ax, (post - 1.2, 8.3), "decoder layer (post-norm)", bold=True)
    write(ax, (pre - 1.0, 8.3), "GPT block (pre-norm)", bold=True)
    sublayers = (
        ("masked self-attention", QUERY), ("cross-attention", KEY), ("feed-forward", ACCENT),
    )  # fmt: skip
    stream(ax, post, (0.4, 7.95))
    for number, (text, colour) in enumerate(sublayers):
        low = 0.9 + 2.35 * number
        branch(ax, post, low, [(low + 0.65, text, colour)], low + 1.3)
        box(ax, (post, low + 1.88), (1.5, 0.44), f"norm{number + 1}", WRONG)
    box(ax, (0.85, 3.9), (1.3, 0.7), "memory", KEY)
    arrow(ax, (1.52, 3.9), (post - 2.3 - 1.67, 3.9), KEY)
    stream(ax, pre, (0.4, 7.95))
    for number, (text, colour) in enumerate(sublayers[::2]):
        low = 0.9 + 3.4 * number
        steps = [(low + 0.7, f"norm{number + 1}", WRONG), (low + 1.65, text, colour)]
        branch(ax, pre, low, steps, low + 2.4)
    for x in (post, pre):
        box(ax, (x, 0.4), (1.5, 0.44), "x", MUTED)
    ax.text(pre + 0.5, 4.3, "residual stream", color=shade(VALUE), size=15, rotation=90, va="center")
    save(figure, "decoder_gpt_block")


if __name__ == "__main__":
    draw_steps()
    draw_shift()
    draw_layer()
    draw_stack()
    draw_blocks()
