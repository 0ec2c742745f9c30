"""Draw the map at the top of each lesson: `python images/draw_map.py`.

One picture of the whole Transformer, for lessons 1 to 8: the parts that a lesson builds are in colour, those
that earlier lessons built are tinted, and the rest are grey. The program prints the markdown line,
with its alt text, that shows each map.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Final

from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch, Rectangle
from style import INK, Point, arrow, page, save, tint, write

from coursework.plots import MUTED, QUERY, WRONG

TITLES: Final = (
    "1 Token\nembeddings",
    "2 Positional\nencoding",
    "3\nAttention",
    "4 Multiple\nheads",
    "5\nEncoder",
    "6\nDecoder",
    "7 Complete\nmodel",
    "8 Attention\nmaps",
    "9 A model\nof today",
)
WIDTHS: Final = (1.75, 1.68, 1.4, 1.46, 1.2, 1.22, 1.64, 1.64, 1.5)  # of the lessons along the lower edge
EXTRA: Final = 9  # the lesson that is for those who want more
HERE: Final[Mapping[int, str]] = {
    1: "the two embedding layers, which turn source tokens and target tokens into vectors",
    2: "the two positional encodings, which are added right after the embeddings",
    3: "scaled dot-product attention, the innermost box of all three attention sublayers",
    4: "multi-head attention, which is self-attention in the encoder, and causal self-attention and "
    "cross-attention in the decoder",
    5: "the encoder, a stack of N layers, each of self-attention and a feed-forward network, and the "
    "same feed-forward network in the decoder",
    6: "the decoder, a stack of N layers, each of causal self-attention, cross-attention to the "
    "encoder's output, and a feed-forward network, with a linear layer after the stack",
    7: "the frame around everything, which stands for the whole model, its training and the text "
    "that it generates",
    8: "the small heat maps in the attention sublayers, which stand for their attention weights",
}
WHOLE: Final = (
    "Map of the Transformer. Source tokens pass through embeddings and positional encoding into the "
    "encoder; target tokens pass through embeddings and positional encoding into the decoder, which "
    "also reads the encoder's output; a linear layer turns the result into logits for the next "
    "token."
)
SOURCE, TARGET = 5.2, 2.6  # the heights of the two rows
SELF, CROSS = 5.85, 8.55  # where the attention sublayers stand
MARGIN = 0.04  # that a label keeps from each side of its box


@dataclass(frozen=True)
class Map:
    """A figure in progress, and the lesson that it is for."""

    ax: Axes
    lesson: int

    def part(self, built_in: int, at: Point, size: Point, text: str = "") -> None:
        """Draw a box for what lesson `built_in` builds, around a point."""
        colour, strength, width = self.look(built_in)
        corner = (at[0] - size[0] / 2, at[1] - size[1] / 2)
        shape = "round,pad=0,rounding_size=0.1"
        face = tint(colour, strength)
        self.ax.add_patch(FancyBboxPatch(corner, *size, shape, fc=face, ec=colour, lw=width))
        self.label(built_in, at, text, size)

    def label(self, built_in: int, at: Point, text: str, room: Point) -> None:
        """Write the name of what lesson `built_in` builds: grey until it is built.

        Raises ValueError for a name that needs more room than it has.
        """
        colour = INK if built_in <= self.lesson else MUTED
        written = write(self.ax, at, text, colour, bold=built_in == self.lesson)
        needs = self.ax.transData.inverted().transform_bbox(written.get_window_extent())
        if needs.width + 2 * MARGIN > room[0] or needs.height + MARGIN > room[1]:
            raise ValueError(f"{text!r} takes {needs.width:.2f} by {needs.height:.2f} inches of {room}")

    def look(self, built_in: int) -> tuple[str, float, float]:
        """Return colour, strength of tint and line width of what a lesson builds."""
        if built_in == self.lesson:
            return WRONG, 0.3, 3.0
        return (QUERY, 0.13, 1.5) if built_in < self.lesson else ("#B4B4B4", 0.0, 1.2)


def draw_map(lesson: int) -> None:
    """Draw the map of one lesson."""
    figure, ax = page(14.0, 6.75)
    chart = Map(ax, lesson)
    frames(chart)
    inputs(chart)
    sublayers(chart)
    wires(ax)
    legend(chart)
    save(figure, f"map_{lesson:02}")


def frames(chart: Map) -> None:
    """Draw the whole model, and in it the encoder and the decoder."""
    chart.part(7, (6.83, 3.9), (11.46, 5.45))
    chart.part(5, (6.58, SOURCE), (4.16, 2.4))
    chart.label(5, (5.85, SOURCE + 0.98), "encoder, N layers", (2.5, 0.4))
    chart.part(6, (7.88, TARGET), (6.76, 2.4))
    chart.label(6, (5.85, TARGET + 0.98), "decoder, N layers", (2.5, 0.4))
    chart.part(6, (11.95, TARGET), (0.96, 0.9), "linear")


def inputs(chart: Map) -> None:
    """Draw the tokens, their embeddings and their positions, in both rows."""
    for y, name in ((SOURCE, "source\ntokens"), (TARGET, "target\ntokens")):
        write(chart.ax, (0.56, y), name)
        chart.part(1, (2.02, y), (1.62, 0.9), "token\nembedding")
        chart.part(2, (3.69, y), (1.42, 0.9), "positional\nencoding")
    write(chart.ax, (13.35, TARGET), "next\ntoken")


def sublayers(chart: Map) -> None:
    """Draw the sublayers of encoder and decoder."""
    attention(chart, (SELF, SOURCE), "multi-head\nself-attention")
    attention(chart, (SELF, TARGET), "causal multi-head\nself-attention")
    attention(chart, (CROSS, TARGET), "multi-head\ncross-attention")
    chart.part(5, (7.93, SOURCE - 0.15), (1.16, 1.7), "feed-\nforward")
    chart.part(5, (10.58, TARGET - 0.15), (1.16, 1.7), "feed-\nforward")


def attention(chart: Map, at: Point, name: str) -> None:
    """Draw a multi-head attention: the scaled dot product in it, and a map of its weights."""
    x, y = at
    chart.part(4, (x, y - 0.15), (2.5, 1.7))
    chart.label(4, (x, y + 0.36), name, (2.5, 0.64))
    chart.part(3, (x - 0.33, y - 0.5), (1.68, 0.75), "scaled\ndot-product")
    colour, strength, _ = chart.look(8)
    for row, column in product(range(3), range(3)):
        face = tint(colour, (strength or 0.15) * (2.8 if row == column else 1.0))
        corner = (x + 0.62 + 0.16 * column, y - 0.35 - 0.16 * row)
        chart.ax.add_patch(Rectangle(corner, 0.16, 0.16, fc=face, ec="white", lw=0.8))


def wires(ax: Axes) -> None:
    """Draw the arrows along both rows, and from the encoder to the cross-attention."""
    for y in (SOURCE, TARGET):
        for start, end in ((0.98, 1.21), (2.83, 2.98), (4.4, 4.5)):
            arrow(ax, (start, y), (end, y), INK, 1.5)
    for start, end, y in ((7.1, 7.35, SOURCE), (7.1, 7.3, TARGET), (9.8, 10.0, TARGET)):
        arrow(ax, (start, y - 0.15), (end, y - 0.15), INK, 1.5)
    for start, end in ((11.26, 11.47), (12.43, 12.95)):
        arrow(ax, (start, TARGET), (end, TARGET), INK, 1.5)
    arrow(ax, (CROSS - 0.4, SOURCE - 1.2), (CROSS - 0.4, TARGET + 0.7), INK, 1.5)


def legend(chart: Map) -> None:
    """List the lessons along the lower edge, the extra one apart, and mark the one that the reader is in."""
    left = 0.03
    for lesson, (title, width) in enumerate(zip(TITLES, WIDTHS, strict=True), start=1):
        left += 0.2 if lesson == EXTRA else 0.0
        x = left + width / 2
        chart.part(lesson, (x, 0.5), (width - 0.03, 0.7), title)
        if lesson == chart.lesson:
            write(chart.ax, (x, 0.98), "you are here", WRONG, bold=True)
        elif lesson == EXTRA:
            write(chart.ax, (x, 0.98), "extra", MUTED)
        left += width


def line(lesson: int) -> str:
    """Return the markdown that shows a lesson's map."""
    return f"![{WHOLE} Lesson {lesson} is highlighted: {HERE[lesson]}.](images/map_{lesson:02}.svg)"


if __name__ == "__main__":
    for number in HERE:
        draw_map(number)
        print(line(number))
