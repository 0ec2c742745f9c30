"""Pictures for cards, as SVG without scripts: grids of colour, heat maps and curves.

Each is drawn twice, for the student's result and for the right one, on the same scale. Entries that
differ are outlined, so that colour is never the only sign.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from coursework.instant.comparing import same_value
from coursework.instant.examples import Result

SIDE, SMALL_SIDE = 26, 18  # pixels a cell: in grids up to MANY cells a side, and in larger ones
MANY, MOST = 10, 24  # cells a side; no more than MOST are drawn
CURVES = (240, 120)
# Okabe and Ito's palette, which colour-blind readers can tell apart: jfly.uni-koeln.de/color
SOURCES = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#999999")


@dataclass(frozen=True)
class Square:
    """One cell of a grid: where it is, its colour, and whether it differs from the right one."""

    x: int
    y: int
    fill: str
    opacity: float
    differs: bool
    text: str = ""


@dataclass(frozen=True)
class Picture:
    """A grid or a set of curves, with its size in pixels and a sentence for those who cannot see it."""

    kind: str
    width: int
    height: int
    alt: str
    squares: Sequence[Square] = ()
    curves: Sequence[tuple[str, str]] = ()
    side: int = SIDE  # pixels a cell


def picture_of(kind: str, got: Result, expected: Result) -> tuple[Picture, Picture] | None:
    """Return the pictures of a result and of the right one; None where there is nothing to draw."""
    mine, right = _matrix(got), _matrix(expected)
    if not kind or mine is None or right is None:
        return None
    if kind == "curves":
        return _curves(mine, right), _curves(right, right)
    paint = PAINTS[kind]
    return _grid(mine, right, paint, "your result"), _grid(right, right, paint, "the expected result")


def _matrix(result: Result) -> torch.Tensor | None:
    """Return what is drawn of a result: its last tensor, as rows; the samples and heads one below another."""
    value = result.value
    while isinstance(value, (list, tuple)) and value:
        value = value[-1]
    if not isinstance(value, torch.Tensor) or value.dim() == 0 or value.is_complex():
        return None
    rows = value.detach().reshape(1, -1) if value.dim() == 1 else value.detach().flatten(0, -2)
    return rows[:MOST, :MOST].double() if rows.numel() else None


Paint = Callable[[float, torch.Tensor], tuple[str, float, str]]


def _paint_mask(value: float, _all: torch.Tensor) -> tuple[str, float, str]:
    return ("#0072B2", 0.85, "") if value else ("#888888", 0.12, "")


def _paint_heat(value: float, everything: torch.Tensor) -> tuple[str, float, str]:
    top = float(everything.abs().nan_to_num(0.0, 0.0, 0.0).max()) or 1.0
    if value != value:  # noqa: PLR0124 - NaN
        return "#D55E00", 0.9, "NaN"
    return ("#0072B2" if value >= 0 else "#D55E00"), min(abs(value) / top, 1.0), ""


def _paint_source(value: float, _all: torch.Tensor) -> tuple[str, float, str]:
    """Colour an entry 10·token + feature by its token."""
    if value != value or abs(value) >= 1000:  # noqa: PLR0124 - NaN
        return "#888888", 0.2, "?"
    return SOURCES[int(value) // 10 % len(SOURCES)], 0.75, f"{int(value)}"


PAINTS: Mapping[str, Paint] = {"mask": _paint_mask, "heat": _paint_heat, "source": _paint_source}


def _grid(values: torch.Tensor, right: torch.Tensor, paint: Paint, what: str) -> Picture:
    fits, side = values.shape == right.shape, _side(values)
    squares = []
    for y, x in _places(values):
        value = float(values[y, x])
        fill, opacity, text = paint(value, right)
        differs = not fits or not same_value(value, float(right[y, x]))
        squares.append(Square(x * side, y * side, fill, round(opacity, 3), differs, text))
    wrong = sum(square.differs for square in squares)
    alt = f"A grid of {values.size(0)} by {values.size(1)} cells, {what}."
    alt += f" {wrong} cells differ from the expected result and are outlined." if wrong else ""
    width, height = values.size(1) * side + 2, values.size(0) * side + 2
    return Picture("grid", width, height, alt, squares, side=side)


def _side(values: torch.Tensor) -> int:
    """Return the pixels a cell: fewer where there are many, so that two grids fit side by side."""
    return SIDE if max(values.shape) <= MANY else SMALL_SIDE


def _places(values: torch.Tensor) -> list[tuple[int, int]]:
    return [(y, x) for y in range(values.size(0)) for x in range(values.size(1))]


def _curves(values: torch.Tensor, right: torch.Tensor) -> Picture:
    """Draw each column as a curve over the rows; the right ones lie behind, dashed."""
    both = torch.cat([values.flatten(), right.flatten()]).nan_to_num(0.0, 0.0, 0.0)
    low, high = float(both.min()), float(both.max())
    lines = [(_points(column, low, high), "right") for column in _columns(right)]
    lines += [(_points(column, low, high), "mine") for column in _columns(values)]
    alt = "Curves of the result, over those of the expected result, which are dashed."
    return Picture("curves", *CURVES, alt, curves=lines)


def _columns(values: torch.Tensor) -> list[torch.Tensor]:
    return [values[0]] if values.size(0) == 1 else [*values.T[:6]]


def _points(column: torch.Tensor, low: float, high: float) -> str:
    width, height = CURVES
    heights: list[Any] = column.nan_to_num(0.0, 0.0, 0.0).tolist()
    span, steps = (high - low) or 1.0, max(len(heights) - 1, 1)
    places = enumerate(heights)
    return " ".join(
        f"{5 + (width - 10) * n / steps:.1f},{height - 5 - (height - 10) * (y - low) / span:.1f}"
        for n, y in places
    )
