"""Live figures of lesson 1: tokens, batches, word counts, and maps of word vectors."""

from collections.abc import Mapping, Sequence
from typing import Final

import torch
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.patches import FancyArrowPatch, Rectangle
from torch import Tensor

from coursework.plots import ACCENT, CYCLE, KEY, MUTED, QUERY, WRONG

CHARACTER: Final = 0.115  # inches that one character takes
VISIBLE: Final = {" ": "·", "\n": "↵", "\t": "→"}


def token_strip(tokens: Sequence[str], *, columns: int = 88) -> Axes:
    """Draw tokens as boxes in the order of the text: words blue, what stands between them grey.

    A space is shown as a dot, a new line or a tab as an arrow; a row is `columns` characters long.
    """
    rows = _wrapped(tokens, columns)
    figure = plt.figure(figsize=(CHARACTER * columns, 0.42 * len(rows) + 0.1))
    ax = figure.add_subplot()
    for line, row in enumerate(rows):
        for start, text in row:
            _draw_token(ax, start, line, text)
    ax.set(xlim=(-1, columns + 1), ylim=(len(rows) - 0.4, -0.6))
    ax.set_axis_off()
    return ax


def batch_grid(batch: Tensor, words: Sequence[str], *, pad_id: int = 0) -> Axes:
    """Draw ids (B, S) in a grid, each with the word it stands for; padding is grey."""
    rows, columns = batch.shape
    figure = plt.figure(figsize=(1.15 * columns + 0.4, 0.8 * rows + 0.3))
    ax = figure.add_subplot()
    for row, column in torch.cartesian_prod(torch.arange(rows), torch.arange(columns)).tolist():
        number = int(batch[row, column])
        padding = number == pad_id
        face = "#EDEDED" if padding else to_rgba(QUERY, 0.16)
        ax.add_patch(Rectangle((column - 0.47, row - 0.44), 0.94, 0.88, fc=face, ec="white"))
        colour = MUTED if padding else "black"
        ax.text(column, row - 0.14, str(number), ha="center", va="center", color=colour, size=15)
        word = _visible(words[number])
        ax.text(column, row + 0.24, word, ha="center", va="center", color="#555555", size=12)
    ax.set(xlim=(-0.6, columns - 0.4), ylim=(rows - 0.5, -0.5))
    ax.set_axis_off()
    return ax


def zipf(counts: Sequence[int], tokens: Sequence[str], *, named: Sequence[int]) -> Axes:
    """Draw the count of each token over its rank, both logarithmic, most frequent first.

    `named` are the ranks (from 1) whose tokens are written beside their points.
    """
    ax = _panel(7.6, 4.2)
    ax.loglog(range(1, len(counts) + 1), counts, color=QUERY, linewidth=3)
    for rank in (rank for rank in named if rank <= len(counts)):
        ax.plot(rank, counts[rank - 1], "o", color=WRONG, markersize=8)
        text = f" “{_visible(tokens[rank - 1])}”"
        ax.annotate(text, (rank, counts[rank - 1]), (4, 6), textcoords="offset points", size=13)
    ax.set(xlabel="rank of the token", ylabel="how often it occurs")
    ax.margins(x=0.08, y=0.12)
    return ax


def fading(distance: Sequence[int], named: Mapping[str, Sequence[float]], ylabel: str) -> Axes:
    """Draw one line per name over the distance, on a logarithmic scale."""
    ax = _panel(7.6, 4.0)
    for (name, values), style in zip(named.items(), ("-", "--", ":"), strict=False):
        ax.semilogy(distance, values, style, label=name, linewidth=3)
    ax.set(xlabel="distance in tokens", ylabel=ylabel)
    ax.legend(frameon=False)
    return ax


def histograms(named: Mapping[str, Tensor], *, limits: tuple[float, float], xlabel: str) -> Axes:
    """Draw the distribution of each vector (N,) over one scale, as filled outlines."""
    ax = _panel(7.6, 3.6)
    for (name, values), colour in zip(named.items(), (QUERY, WRONG, KEY), strict=False):
        inside = values.detach().clamp(*limits).tolist()
        style = {"color": colour, "alpha": 0.45, "label": name, "density": True}
        ax.hist(inside, bins=60, range=limits, histtype="stepfilled", **style)
    ax.set(xlabel=xlabel, yticks=[])
    ax.spines["left"].set_visible(False)
    ax.legend(frameon=False)
    return ax


def word_map(
    vectors: Tensor,
    groups: Mapping[str, Sequence[str]],
    *,
    arrows: Sequence[tuple[str, str]] = (),
) -> Axes:
    """Draw word vectors (N, D) on the plane in which they differ most, one colour per group.

    Rows follow the words of the groups in order. The plane is that of the first two principal
    components. An arrow leads from each first word to its second.
    """
    words = [word for group in groups.values() for word in group]
    places = dict(zip(words, plane(vectors).tolist(), strict=True))
    ax = _panel(8.0, 5.2)
    for (name, group), colour in zip(groups.items(), CYCLE, strict=False):
        x, y = zip(*(places[word] for word in group), strict=True)
        ax.scatter(x, y, s=90, color=colour, label=name, zorder=3)
        for word in group:
            ax.annotate(word, places[word], (7, 6), textcoords="offset points", size=13)
    for start, end in arrows:
        style = {"arrowstyle": "-|>", "mutation_scale": 18, "shrinkA": 6, "shrinkB": 6}
        line = FancyArrowPatch(places[start], places[end], color=ACCENT, linewidth=2.5, **style)
        ax.add_patch(line)
    ax.set(xticks=[], yticks=[])
    ax.margins(0.14)
    if len(groups) > 1:
        ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return ax


def plane(vectors: Tensor) -> Tensor:
    """Return the first two principal components (N, 2) of vectors (N, D), with fixed signs."""
    centred = vectors.detach() - vectors.detach().mean(dim=0)
    _, _, directions = torch.linalg.svd(centred, full_matrices=False)
    flat: Tensor = centred @ directions[:2].T  # (N, 2)
    largest = flat.gather(0, flat.abs().argmax(dim=0, keepdim=True))  # (1, 2)
    return flat * largest.sign()


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


def _draw_token(ax: Axes, start: float, line: int, text: str) -> None:
    is_word = text[:1].isalnum()
    face = to_rgba(QUERY, 0.2) if is_word else "#E4E4E4"
    ax.add_patch(Rectangle((start - 0.4, line - 0.36), len(text) + 0.8, 0.72, fc=face, ec="none"))
    middle = start + len(text) / 2
    style = {"ha": "center", "va": "center_baseline", "family": "monospace", "size": 12}
    ax.text(middle, line, text, color="black" if is_word else "#444444", **style)


def _visible(token: str) -> str:
    return "".join(VISIBLE.get(character, character) for character in token)


def _panel(width: float, height: float) -> Axes:
    return plt.figure(figsize=(width, height)).add_subplot()
