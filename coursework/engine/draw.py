"""Draws small values: as tables of short texts, for HTML and for plain text, and as SVG without scripts.

A picture is a grid of colours, a heat map or a set of curves. Each is drawn twice, for the student's result
and for the right one, on the same scale. Entries that differ are outlined: colour is never the only sign.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import product
from typing import Any

import torch

from coursework.engine.compare import difference
from coursework.engine.exceptions import StudentCell, say_raised
from coursework.engine.observation import Observation
from coursework.engine.values import Opaque

MOST_ROWS, MOST_COLUMNS, LONGEST = 12, 16, 160
MOST_ITEMS = 32  # of a list that are shown
FEW = 4  # tables; of more, only those that differ are shown
WHOLE, MOST_DIGITS = 999.5, 1e6  # between these, every digit before the point is shown
NEGLIGIBLE = 1e-4  # of the largest entry of a table
SIDE, SMALL_SIDE = 26, 18  # pixels a cell: in grids up to MANY cells a side, and in larger ones
MANY, MOST = 10, 24  # cells a side; no more than MOST are drawn
CURVES = (240, 120)
ABSENT = object()  # stands for the right entry where there is none
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


def tables_of(result: Observation, other: Observation | None = None) -> list[Table]:
    """Return a result as tables; entries that differ from those of `other` are marked."""
    if raised := result.raised:
        said = ": ".join(filter(None, (raised.kind, raised.message)))
        if raised.structural:
            said = say_raised(raised, StudentCell())
        return [Table("", [[TableCell(_cut(said), other is not None)]])]
    right = dict(_parts(other.value)) if other is not None and not other.raised else {}
    mine = dict(_parts(result.value)).items()
    return [_table(heading, value, right.get(heading), other is not None) for heading, value in mine]


def only_differing(mine: Sequence[Table], right: Sequence[Table]) -> tuple[Sequence[Table], Sequence[Table]]:
    """Return, of many tables, those that differ, and the right ones for the same parts of the result."""
    wrong = {table.heading for table in mine if any(cell.differs for row in table.rows for cell in row)}
    matched = [table.heading for table in mine] == [table.heading for table in right]
    if len(mine) <= FEW or not matched or len(wrong) in {0, len(mine)}:
        return mine, right
    kept, wanted = ([table for table in tables if table.heading in wrong] for tables in (mine, right))
    return [*kept, Table("the other parts", [[TableCell("are right")]])], wanted


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
            if isinstance(item, bool):
                continue  # what is true of the answer besides its numbers: a message says that
            yield from _parts(item, f"{heading}[{key!r}]" if heading or not isinstance(key, str) else key)
    elif isinstance(value, torch.Tensor) and value.dim() > 2 and value.numel():
        for number, item in enumerate(value[:MOST_ROWS]):
            yield from _parts(item, f"{heading}[{number}]")
    else:
        yield heading, value


def _table(heading: str, value: Any, right: Any, marked: bool) -> Table:
    if isinstance(value, torch.Tensor) and not value.numel():
        kind = str(value.dtype).removeprefix("torch.")
        text = f"tensor([]), shape {tuple(value.shape)}, {kind}"
        return Table(heading, [[TableCell(text, marked and not _same(value, right))]])
    if isinstance(value, torch.Tensor):
        return _tensor_table(heading, value, right, marked)
    if isinstance(value, (list, tuple)):
        row = _list_row(value, right, marked)[:MOST_ITEMS]
        return Table(heading, [row or [_cell(value, right, marked)]])
    if isinstance(value, Mapping) and value:
        fellows: Mapping[Any, Any] = right if isinstance(right, Mapping) else {}
        pairs = list(value.items())[:MOST_ROWS]
        rows = [
            [TableCell(number_text(key)), _cell(item, fellows.get(key, ABSENT), marked)]
            for key, item in pairs
        ]
        return Table(heading, rows)
    return Table(heading, [[_cell(value, right, marked)]])


def _list_row(items: Sequence[Any], right: Any, marked: bool) -> list[TableCell]:
    """Return the entries of a list; where it has too many or too few, only these are marked."""
    items = items[: 2 * MOST_ITEMS]
    if not marked or not isinstance(right, (list, tuple)):
        return [_cell(item, ABSENT, marked) for item in items]
    right = right[: 2 * MOST_ITEMS]
    if len(items) == len(right):
        return [_cell(item, other, marked) for item, other in zip(items, right, strict=True)]
    texts, wanted = list(map(number_text, items)), list(map(number_text, right))
    row: list[TableCell] = []
    for change, start, end, first, last in SequenceMatcher(None, texts, wanted, False).get_opcodes():
        row += [TableCell(text, change != "equal") for text in texts[start:end]]
        row += [TableCell(f"{last - first} missing", True)] if change == "insert" else []
    return row


def _cell(value: Any, right: Any, marked: bool, least: float = 0.0) -> TableCell:
    return TableCell(number_text(value, least), marked and (right is ABSENT or not _same(value, right)))


def _tensor_table(heading: str, value: torch.Tensor, right: Any, marked: bool) -> Table:
    """Return a table of at most two dimensions, whose heading names a shape that is not the expected one."""
    fits = isinstance(right, torch.Tensor) and right.shape == value.shape
    if not fits and right is not None:
        heading = f"{heading} shape {tuple(value.shape)}".strip()
    rows = value.detach().reshape(1, -1) if value.dim() < 2 else value.detach()
    least = 0.0
    if rows.is_floating_point() and rows.numel():
        least = NEGLIGIBLE * float(rows.abs().nan_to_num(0.0, 0.0, 0.0).max())
    shown = rows[:MOST_ROWS, :MOST_COLUMNS].tolist()
    fellows = right.reshape(rows.shape).tolist() if fits else None
    return Table(
        heading,
        [
            [_cell(x, fellows[i][j] if fellows else ABSENT, marked, least) for j, x in enumerate(row)]
            for i, row in enumerate(shown)
        ],
    )


def number_text(value: Any, least: float = 0.0) -> str:
    """Return a value as it is read best in a small table; below `least`, a number is near 0."""
    if isinstance(value, bool):
        return "✓" if value else "·"
    if isinstance(value, float) and 0 < abs(value) < least:
        return "≈0"
    if isinstance(value, float):
        whole = WHOLE <= abs(value) < MOST_DIGITS
        short = f"{value:.0f}" if whole else f"{value:.3g}"
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
    width = max((len(cell.text) for row in table.rows for cell in row), default=0)
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
    """Return what is drawn: the last tensor, as rows; the samples and heads stand one below another."""
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
    fits = values.shape == right.shape
    # Fewer pixels a cell where there are many, so that two grids fit side by side.
    side = SIDE if max(values.shape) <= MANY else SMALL_SIDE
    squares = []
    for y, x in product(range(values.size(0)), range(values.size(1))):
        value = float(values[y, x])
        fill, opacity, text = paint(value, right)
        differs = not fits or not _same(value, float(right[y, x]))
        squares.append(Square(x * side, y * side, fill, round(opacity, 3), differs, text))
    wrong = sum(square.differs for square in squares)
    alt = f"A grid of {values.size(0)} by {values.size(1)} cells, {what}."
    alt += f" {wrong} cells differ from the expected result and are outlined." if wrong else ""
    width, height = values.size(1) * side + 2, values.size(0) * side + 2
    return Picture("grid", width, height, alt, squares, side=side)


def _curves(values: torch.Tensor, right: torch.Tensor) -> Picture:
    """Draw each column as a curve over the rows; the right ones lie behind, dashed."""
    both = torch.cat([values.flatten(), right.flatten()]).nan_to_num(0.0, 0.0, 0.0)
    low, high = float(both.min()), float(both.max())
    lines = [
        (_points(column, low, high), whose)
        for whose, of in (("right", right), ("mine", values))
        for column in (of if of.size(0) == 1 else of.T[:6])
    ]
    alt = "Curves of the result, over those of the expected result, which are dashed."
    return Picture("curves", *CURVES, alt, curves=lines)


def _points(column: torch.Tensor, low: float, high: float) -> str:
    width, height = CURVES
    heights: list[Any] = column.nan_to_num(0.0, 0.0, 0.0).tolist()
    span, steps = (high - low) or 1.0, max(len(heights) - 1, 1)
    return " ".join(
        f"{5 + (width - 10) * n / steps:.1f},{height - 5 - (height - 10) * (y - low) / span:.1f}"
        for n, y in enumerate(heights)
    )
