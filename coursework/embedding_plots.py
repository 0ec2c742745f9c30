"""Live figures of lesson 1: tokens, batches, gradients, and word vectors."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import torch
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.patches import FancyArrowPatch, Rectangle
from torch import Tensor

from coursework.plots import ACCENT, CYCLE, MUTED, QUERY, panel

CHARACTER: Final = 0.128  # inches that one character takes
LEFT: Final = (-0.9, 1.0, 0.0)
# Where a word may stand about its point: right, above, below, left, and a line further off. Each is
# an offset in characters, the share of the word that lies left of it, and an offset in lines.
AROUND: Final = (
    *((0.9, 0.0, 0.0), (0.0, 0.5, 0.9), (0.0, 0.5, -0.9), LEFT),
    *((0.7, 0.0, 0.8), (0.7, 0.0, -0.8), (-0.7, 1.0, 0.8), (-0.7, 1.0, -0.8)),
    *((0.0, 0.5, 1.8), (0.0, 0.5, -1.8)),
)
VISIBLE: Final = {" ": "·", "\n": "↵", "\t": "→"}


def token_strip(tokens: Sequence[str], *, columns: int = 88) -> Axes:
    """Draw tokens as boxes in the order of the text: words blue, everything between them grey.

    A space is shown as a dot, a newline or a tab as an arrow; a row is `columns` characters long.
    """
    rows = _wrapped(tokens, columns)
    ax = panel(CHARACTER * columns, 0.42 * len(rows) + 0.1)
    for line, row in enumerate(rows):
        for start, text in row:
            face = to_rgba(QUERY, 0.2) if text[:1].isalnum() else "#E4E4E4"
            ax.add_patch(Rectangle((start - 0.4, line - 0.36), len(text) + 0.8, 0.72, fc=face, ec="none"))
            style: dict[str, Any] = {"ha": "center", "va": "center_baseline", "family": "monospace"}
            ax.text(start + len(text) / 2, line, text, **style)
    ax.set(xlim=(-1, columns + 1), ylim=(len(rows) - 0.4, -0.6))
    ax.set_axis_off()
    return ax


def batch_grid(batch: Tensor, words: Sequence[str]) -> Axes:
    """Draw ids (B, S) in a grid, each with the word it stands for; padding is grey."""
    rows, columns = batch.shape
    ax = panel(1.15 * columns + 0.4, 0.8 * rows + 0.3)
    for row, ids in enumerate(batch.tolist()):
        for column, number in enumerate(ids):
            padding = number == 0
            face = "#EDEDED" if padding else to_rgba(QUERY, 0.16)
            ax.add_patch(Rectangle((column - 0.47, row - 0.44), 0.94, 0.88, fc=face, ec="white"))
            colour = MUTED if padding else "black"
            ax.text(column, row - 0.14, str(number), color=colour, ha="center", va="center")
            word = _visible(words[number])
            ax.text(column, row + 0.24, word, color="#555555", ha="center", va="center")
    ax.set(xlim=(-0.6, columns - 0.4), ylim=(rows - 0.5, -0.5))
    ax.set_axis_off()
    return ax


def fading(distance: Sequence[int], named: Mapping[str, Sequence[float]], ylabel: str) -> Axes:
    """Draw one line per name over the distance, on a logarithmic scale."""
    ax = panel(7.6, 4.0)
    for (name, values), style in zip(named.items(), ("-", "--", ":"), strict=False):
        ax.semilogy(distance, values, style, label=name, linewidth=3)
    ax.set(xlabel="distance in tokens", ylabel=ylabel)
    ax.legend(frameon=False)
    return ax


def bars(names: Sequence[str], values: Sequence[float], *, title: str = "", xlabel: str = "") -> Axes:
    """Draw a horizontal bar for each name, the first one at the top, with its value beside it."""
    ax = panel(7.6, 0.4 * len(names) + 1.0)
    drawn = ax.barh(range(len(names)), values, color=QUERY, height=0.7)
    ax.bar_label(drawn, fmt="{:.2f}", padding=4)
    ax.set_yticks(range(len(names)), names)
    ax.invert_yaxis()
    ax.set(title=title, xlabel=xlabel, xlim=(0, 1.1 * max(values)))
    return ax


def word_map(
    vectors: Tensor,
    groups: Mapping[str, Sequence[str]],
    *,
    arrows: Sequence[tuple[str, str]] = (),
    across: Tensor | None = None,
) -> Axes:
    """Draw word vectors (N, D) as points on a plane, one colour per group.

    Rows follow the words of the groups in order. The plane is `plane(vectors, across)`. An arrow
    leads from each first word to its second.
    """
    words = [word for group in groups.values() for word in group]
    flat = plane(vectors, across)
    places = {word: (x, y) for word, (x, y) in zip(words, flat.tolist(), strict=True)}
    ax = panel(9.0, 4.6)
    for (name, group), colour in zip(groups.items(), CYCLE, strict=False):
        x, y = zip(*(places[word] for word in group), strict=True)
        ax.scatter(x, y, s=90, color=colour, label=name, zorder=3)
    for start, end in arrows:
        style: dict[str, Any] = {"arrowstyle": "-|>", "mutation_scale": 18, "linewidth": 2.5}
        arrow = FancyArrowPatch(places[start], places[end], color=ACCENT, shrinkA=6, shrinkB=6, **style)
        ax.add_patch(arrow)  # it keeps clear of the points
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
    ax.margins(0.12)
    _name_points(ax, places, leftward=[start for start, _ in arrows])
    ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return ax


def plane(vectors: Tensor, across: Tensor | None = None) -> Tensor:
    """Return the place of each vector (N, D) on a plane: (N, 2).

    The plane is that of the first two principal components, in which the vectors differ most. Where
    `across` (D,) is given, the first axis is that direction and the second the principal component
    of what is left. Signs are fixed, so that the picture is the same every time.
    """
    centred = vectors.detach() - vectors.detach().mean(dim=0)
    if across is None:
        directions: Tensor = torch.linalg.svd(centred, full_matrices=False).Vh[:2]  # (2, D)
        flat = centred @ directions.T  # (N, 2)
        largest = flat.gather(0, flat.abs().argmax(dim=0, keepdim=True))  # (1, 2)
        return flat * largest.sign()
    unit = across / across.norm()
    along = centred @ unit  # (N,)
    rest = plane(centred - along[:, None] * unit)  # (N, 2)
    return torch.stack([along, rest[:, 0]], dim=-1)


def _wrapped(tokens: Sequence[str], columns: int) -> list[list[tuple[float, str]]]:
    """Return rows of (start, text): as many tokens in a row as fit, with a gap between them."""
    rows: list[list[tuple[float, str]]] = [[]]
    start = 0.0
    for token in tokens:
        text = _visible(token)
        if start + len(text) > columns and rows[-1]:
            rows.append([])
            start = 0.0
        rows[-1].append((start, text))
        start += len(text) + 1.0
    return rows


def _name_points(ax: Axes, places: Mapping[str, tuple[float, float]], leftward: Sequence[str]) -> None:
    """Write each word beside its point: the first place around it that covers nothing written.

    Words that are `leftward` stand to the left where they can, out of the way of an arrow.
    """
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    wide, high = (right - left) / 52, (top - bottom) / 18  # of a character, in units of the axes
    taken = [(x - 0.6 * wide, x + 0.6 * wide, y, 0.75) for x, y in places.values()]
    for word, (x, y) in places.items():
        boxes = [
            (x + (across - word_part * len(word)) * wide, y + up * high)
            for across, word_part, up in (LEFT, *AROUND)[word not in leftward :]
        ]
        start, level = min(boxes, key=lambda box: _covered(box, len(word) * wide, high, taken))
        taken.append((start, start + len(word) * wide, level, 1.0))
        ax.text(start, level, word, va="center_baseline")


def _covered(
    corner: tuple[float, float], width: float, high: float, taken: Sequence[tuple[float, float, float, float]]
) -> int:
    """Count what a word at `corner` would cover: (start, end, level, share of a line's height)."""
    start, level = corner
    return sum(
        start < right and left < start + width and abs(level - other) < share * high
        for left, right, other, share in taken
    )


def _visible(token: str) -> str:
    return "".join(VISIBLE.get(character, character) for character in token)
