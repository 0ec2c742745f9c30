"""Draw the figures of lesson 9, its map among them: `python images/draw_09_modern_llm.py`."""

from draw_map import CROSS, SOURCE, TARGET, WHOLE, Map, frames, inputs, legend, sublayers, wires
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from style import INK, Point, arrow, box, page, save, shade, tint, write

from coursework.plots import KEY, MUTED, QUERY, VALUE, WRONG

GROUPS = (("a key head each", 9), ("in groups, as SmolLM2", 3), ("one for all", 1))
HERE = (
    "The encoder and cross-attention are grey, because a language model of today does without them. "
    "Lesson 9 is highlighted: what is left of the decoder, in which almost every part has changed."
)


OLD = (
    "embedding × √D, plus sinusoids",
    "attention: H heads of keys",
    "add, then LayerNorm",
    "ReLU feed-forward",
    "add, then LayerNorm",
    "the embedding's table again",
)
NEW = (
    "embedding",
    "RMSNorm",
    "rotary attention: G heads of keys",
    "add",
    "RMSNorm",
    "gated SiLU feed-forward",
    "add",
    "RMSNorm",
    "the embedding's table again",
)


SAME = ("add", "the embedding's table again")


def frame(ax: Axes, corner: Point, size: Point) -> None:
    """Draw a dotted frame around what is repeated."""
    ax.add_patch(Rectangle(corner, *size, fc="none", ec=MUTED, lw=1.2, ls=":"))


def stack(ax: Axes, x: float, title: str, parts: tuple[str, ...], last: int) -> None:
    """Draw a model from the bottom up; parts 1 to `last` are repeated, and those of today are in colour."""
    colour = WRONG if parts is NEW else MUTED
    write(ax, (x, 6.75), title, bold=True)
    step = 5.9 / (len(parts) - 1)
    for place, text in enumerate(parts):
        y = 0.4 + step * place
        box(ax, (x, y), (5.0, 0.5), text, MUTED if text in SAME else colour)
        if place:
            arrow(ax, (x, y - step + 0.25), (x, y - 0.25), INK, 1.5)
    low, high = (0.4 + step * place for place in (1, last))
    frame(ax, (x - 2.7, low - 0.33), (5.4, high - low + 0.66))
    ax.text(x + 2.85, (low + high) / 2, "N layers", rotation=90, ha="left", va="center", color=shade(MUTED))


def draw_changes() -> None:
    """Contrast the decoder-only model of 2017's parts with Llama."""
    figure, ax = page(13.6, 7.1, high=5.2)
    stack(ax, 3.0, "2017, without the encoder", OLD, 4)
    stack(ax, 10.0, "today", NEW, 6)
    arrow(ax, (6.35, 3.4), (7.15, 3.4), WRONG, 4.0)
    save(figure, "modern_changes")


def draw_groups() -> None:
    """Draw which of nine query heads share a head of keys and values, three times."""
    figure, ax = page(14.2, 4.4)
    for panel, (title, kept) in enumerate(GROUPS):
        left = 0.75 + 4.7 * panel
        write(ax, (left + 1.84, 4.1), title, bold=True)
        each = 9 // kept
        for head in range(9):
            x = left + 0.46 * head
            box(ax, (x, 3.1), (0.4, 0.6), str(head), QUERY)
            middle = left + 0.46 * (each * (head // each) + (each - 1) / 2)
            arrow(ax, (x, 2.78), (middle, 1.95), MUTED, 1.4)
        for group in range(kept):
            x = left + 0.46 * (each * group + (each - 1) / 2)
            for y, colour in ((1.6, KEY), (0.95, VALUE)):
                box(ax, (x, y), (0.4, 0.56), str(group), colour)
        write(ax, (left + 1.84, 0.3), f"{2 * kept * 64:,} numbers a position", MUTED)
    write(ax, (0.25, 1.6), "K", KEY, bold=True)
    write(ax, (0.25, 0.95), "V", VALUE, bold=True)
    write(ax, (0.25, 3.1), "Q", QUERY, bold=True)
    save(figure, "modern_groups")


def entry(ax: Axes, at: Point, text: str, colour: str, *, new: bool) -> None:
    """Draw one position of the cache: filled if it has just been computed."""
    corner, face = (at[0] - 0.36, at[1] - 0.25), tint(colour, 0.75 if new else 0.15)
    ax.add_patch(Rectangle(corner, 0.72, 0.5, fc=face, ec=colour, lw=1.6))
    write(ax, at, text, INK)


def draw_cache() -> None:
    """Draw three steps of writing: what goes through the model, and what the cache holds then."""
    figure, ax = page(13.4, 5.0)
    words = ("The", "capital", "of", "France", "is", "Paris", ".")
    for step, (first, last) in enumerate(((0, 5), (5, 6), (6, 7))):
        y = 3.85 - 1.3 * step
        write(ax, (0.8, y), ("the prompt", "step 1", "step 2")[step], bold=True)
        fed = " ".join(words[first:last])
        box(ax, (3.6, y), (3.9 if step == 0 else 1.3, 0.6), fed, QUERY)
        arrow(ax, (5.65, y), (6.35, y))
        for place in range(last):
            for row, (name, colour) in enumerate((("k", KEY), ("v", VALUE))):
                at = (6.95 + 0.76 * place, y + 0.27 - 0.54 * row)
                entry(ax, at, f"{name}{place}", colour, new=place >= first)
        end = 6.95 + 0.76 * last - 0.3
        arrow(ax, (end, y), (end + 0.3, y), WRONG)
        ax.text(end + 0.38, y, ("Paris", ".", "…")[step], ha="left", va="center", color=shade(WRONG))
    write(ax, (3.6, 4.7), "goes through the model", QUERY)
    write(ax, (9.0, 4.7), "the cache of each layer; dark: new", MUTED)
    write(ax, (6.7, 0.25), "Each layer computes keys and values for new positions only.", MUTED)
    save(figure, "modern_cache")


def draw_names() -> None:
    """Draw where the tensors of the file go."""
    figure, ax = page(13.0, 7.0)
    rows = (
        ("token_embd.weight", "embedding", KEY),
        ("blk.N.attn_norm.weight", "layers[N].norm1", MUTED),
        ("blk.N.attn_q.weight", "layers[N].attention.w_q", QUERY),
        ("blk.N.attn_k.weight", "layers[N].attention.w_k", QUERY),
        ("blk.N.attn_v.weight", "layers[N].attention.w_v", QUERY),
        ("blk.N.attn_output.weight", "layers[N].attention.w_o", QUERY),
        ("blk.N.ffn_norm.weight", "layers[N].norm2", MUTED),
        ("blk.N.ffn_gate.weight", "layers[N].feed_forward.w1", VALUE),
        ("blk.N.ffn_up.weight", "layers[N].feed_forward.w3", VALUE),
        ("blk.N.ffn_down.weight", "layers[N].feed_forward.w2", VALUE),
        ("output_norm.weight", "norm", MUTED),
    )
    sizes = ("49152 × 576", "576", "576 × 576", "192 × 576", "192 × 576", "576 × 576", "576",
             "1536 × 576", "1536 × 576", "576 × 1536", "576")  # fmt: skip
    heights = [6.1 - 0.56 * place for place in range(len(rows))]
    write(ax, (2.2, 6.7), "in the file", bold=True)
    write(ax, (5.55, 6.7), "shape in SmolLM2", bold=True)
    write(ax, (10.2, 6.7), "in your Llama", bold=True)
    for y, (stored, mine, colour), size in zip(heights, rows, sizes, strict=True):
        box(ax, (2.2, y), (3.9, 0.46), stored, colour)
        write(ax, (5.55, y), size, MUTED)
        arrow(ax, (6.9, y), (7.9, y), colour)
        box(ax, (10.2, y), (4.3, 0.46), mine, colour)
    frame(ax, (0.1, heights[9] - 0.29), (12.4, 9 * 0.56 + 0.02))
    ax.text(12.6, heights[5], "30 times", rotation=90, ha="left", va="center", color=shade(MUTED))
    save(figure, "modern_names")


class Today(Map):
    """The map, in which the encoder and cross-attention have gone, and what is left is highlighted."""

    def part(self, built_in: int, at: Point, size: Point, text: str = "") -> None:
        """Draw a box around a point: grey where it is no longer needed."""
        Map(self.ax, seen_from(built_in, at)).part(built_in, at, size, text)

    def label(self, built_in: int, at: Point, text: str, room: Point) -> None:
        """Write a name: grey where its part is no longer needed."""
        Map(self.ax, seen_from(built_in, at)).label(built_in, at, text, room)


def seen_from(built_in: int, at: Point) -> int:
    """Return the lesson in whose map a part looks as it should here: grey, highlighted or tinted."""
    x, y = at
    if (y > (SOURCE + TARGET) / 2 and built_in != 7) or (abs(x - CROSS) < 1.3 and built_in in (3, 4)):
        return built_in - 1  # it has gone
    return built_in + 1 if built_in == 7 else built_in


def draw_map_09() -> None:
    """Draw the map of this lesson."""
    figure, ax = page(14.0, 6.75)
    chart = Today(ax, 9)
    for draw in (frames, inputs, sublayers):
        draw(chart)
    wires(ax)
    legend(Map(ax, 9))
    save(figure, "map_09")


if __name__ == "__main__":
    draw_changes()
    draw_groups()
    draw_cache()
    draw_names()
    draw_map_09()
    print(f"![{WHOLE} {HERE}](images/map_09.svg)")
