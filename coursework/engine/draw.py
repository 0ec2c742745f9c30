"""Draws small values: as tables of short texts, for HTML and for plain text, and as SVG without scripts.

A picture is a grid of colours, a heat map or a set of curves. Each is drawn twice, for the student's result
and for the right one, on the same scale. Entries that differ are outlined: colour is never the only sign.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from coursework.engine.compare import difference
from coursework.engine.exceptions import MISSING_PART
from coursework.engine.observation import Observation
from coursework.engine.values import Opaque

MOST_ROWS, MOST_COLUMNS, LONGEST = 12, 16, 160
NEGLIGIBLE = 1e-4  # of the largest entry of a table
SIDE, SMALL_SIDE = 26, 18  # pixels a cell: in grids up to MANY cells a side, and in larger ones
MANY, MOST = 10, 24  # cells a side; no more than MOST are drawn
CURVES = (240, 120)
# Okabe and Ito's palette, which colour-blind readers can tell apart: jfly.uni-koeln.de/color
SOURCES = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#999999")


@dataclass(frozen=True)
class TableCell:
    """One entry of a table, and whether it differs from what was expected."""

    text: str
    differs: bool = False


@dataclass(frozen=True)
class Table:
    """Rows of entries with a heading, such as the part of the result they belong to."""

    heading: str
    rows: Sequence[Sequence[TableCell]]

    @property
    def width(self) -> int:
        """The length of the longest entry."""
        return max((len(cell.text) for row in self.rows for cell in row), default=0)


def tables_of(result: Observation, other: Observation | None = None) -> list[Table]:
    """Return a result as tables; entries that differ from those of `other` are marked."""
    if raised := result.raised:
        said = MISSING_PART if raised.structural else ": ".join(filter(None, (raised.kind, raised.message)))
        return [Table("", [[TableCell(_cut(said), other is not None)]])]
    mine = dict(_parts(result.value))
    right = dict(_parts(other.value)) if other is not None and not other.raised else {}
    marked = other is not None
    return [_table(heading, value, right.get(heading), marked) for heading, value in mine.items()]


def _parts(value: Any, heading: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the tensors and other values of a nested result, each with where it is."""
    nested = isinstance(value, (list, tuple)) and any(
        isinstance(v, (torch.Tensor, list, tuple)) for v in value
    )
    if nested:
        for number, item in enumerate(value):
            yield from _parts(item, f"{heading}[{number}]")
    elif isinstance(value, Mapping) and any(isinstance(v, torch.Tensor) for v in value.values()):
        for key, item in value.items():
            yield from _parts(item, f"{heading}[{key!r}]")
    elif isinstance(value, torch.Tensor) and value.dim() > 2:
        for number, item in enumerate(value[:MOST_ROWS]):
            yield from _parts(item, f"{heading}[{number}]")
    else:
        yield heading, value


def _table(heading: str, value: Any, right: Any, marked: bool) -> Table:
    if isinstance(value, torch.Tensor):
        return Table(_headed(heading, value, right), _tensor_rows(value, right, marked))
    if isinstance(value, (list, tuple)):
        fellows = right if isinstance(right, (list, tuple)) else ()
        row = [
            TableCell(number_text(item), marked and not (n < len(fellows) and _same(item, fellows[n])))
            for n, item in enumerate(value[: MOST_COLUMNS * 2])
        ]
        return Table(heading, [row])
    if isinstance(value, Mapping):
        return Table(heading, _mapping_rows(value, right, marked))
    return Table(heading, [[TableCell(number_text(value), marked and not _same(value, right))]])


def _headed(heading: str, value: torch.Tensor, right: Any) -> str:
    """Return a heading that names the shape where it is not the expected one."""
    other = isinstance(right, torch.Tensor) and right.shape == value.shape
    return heading if other or right is None else f"{heading} shape {tuple(value.shape)}".strip()


def _mapping_rows(value: Mapping[Any, Any], right: Any, marked: bool) -> list[list[TableCell]]:
    fellows = right if isinstance(right, Mapping) else {}
    return [
        [
            TableCell(number_text(key)),
            TableCell(number_text(item), marked and not (key in fellows and _same(item, fellows[key]))),
        ]
        for key, item in list(value.items())[:MOST_ROWS]
    ]


def _tensor_rows(value: torch.Tensor, right: Any, marked: bool) -> list[list[TableCell]]:
    rows = value.detach().reshape(1, -1) if value.dim() < 2 else value.detach()
    fits = isinstance(right, torch.Tensor) and right.shape == value.shape
    fellows = right.reshape(rows.shape) if fits else None
    least = NEGLIGIBLE * _largest(rows)
    return [
        [
            TableCell(
                number_text(rows[i, j].item(), least),
                marked and (fellows is None or not _same(rows[i, j].item(), fellows[i, j].item())),
            )
            for j in range(min(rows.size(1), MOST_COLUMNS))
        ]
        for i in range(min(rows.size(0), MOST_ROWS))
    ]


def _largest(rows: torch.Tensor) -> float:
    """Return the largest finite size of an entry; 0 where there is none."""
    if not rows.is_floating_point() or not rows.numel():
        return 0.0
    return float(rows.abs().nan_to_num(0.0, 0.0, 0.0).max())


def number_text(value: Any, least: float = 0.0) -> str:
    """Return a value as it is read best in a small table; below `least`, a number is near 0."""
    if isinstance(value, bool):
        return "✓" if value else "·"
    if isinstance(value, float) and 0 < abs(value) < least:
        return "≈0"
    if isinstance(value, float):
        short = f"{value:.3g}"
        return "0" if short in ("-0", "0") else short.replace("-", "−").replace("inf", "∞")
    if isinstance(value, Opaque):
        return f"<{value.kind}>"
    return _cut(repr(value))


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def inputs_of(names: Sequence[str], values: Sequence[Any]) -> list[tuple[str, list[Table]]]:
    """Return the inputs that are too large to stand in the call, by name."""
    large = (torch.Tensor, list, tuple, dict)
    shown = [pair for pair in zip(names, values, strict=False) if isinstance(pair[1], large)]
    return [(name, tables_of(Observation(value))) for name, value in shown]


def as_text(table: Table) -> str:
    """Return a table as lines of text; entries that differ stand in angle brackets."""
    width = table.width
    lines = [f"{table.heading}:"] if table.heading else []
    for row in table.rows:
        texts = (f"›{c.text:>{width}}‹" if c.differs else f" {c.text:>{width}} " for c in row)
        lines.append(" ".join(texts))
    return "\n".join(lines)


def _same(one: Any, other: Any) -> bool:
    return difference(one, other) is None


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


def picture_of(kind: str, got: Observation, expected: Observation) -> tuple[Picture, Picture] | None:
    """Return the pictures of a result and of the right one; None where there is nothing to draw."""
    mine, right = _matrix(got), _matrix(expected)
    if not kind or mine is None or right is None:
        return None
    if kind == "curves":
        return _curves(mine, right), _curves(right, right)
    paint = PAINTS[kind]
    return _grid(mine, right, paint, "your result"), _grid(right, right, paint, "the expected result")


def _matrix(result: Observation) -> torch.Tensor | None:
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
        differs = not fits or not _same(value, float(right[y, x]))
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
