"""Lays values out as tables of short texts, the same for the HTML card and for plain text."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from coursework.instant.comparing import same_value
from coursework.instant.examples import Result
from coursework.instant.values import Other

NESTED = (torch.Tensor, list, tuple)
MOST_ROWS, MOST_COLUMNS, LONGEST = 12, 16, 160
NEGLIGIBLE = 1e-4  # of the largest entry of a table


@dataclass(frozen=True)
class Cell:
    """One entry of a table, and whether it differs from what was expected."""

    text: str
    differs: bool = False


@dataclass(frozen=True)
class Table:
    """Rows of entries with a heading, such as the part of the result they belong to."""

    heading: str
    rows: Sequence[Sequence[Cell]]

    @property
    def width(self) -> int:
        """The length of the longest entry."""
        return max((len(cell.text) for row in self.rows for cell in row), default=0)


def tables_of(result: Result, other: Result | None = None) -> list[Table]:
    """Return a result as tables; entries that differ from those of `other` are marked."""
    if result.raised:
        said = f"{result.raised}: {result.message}" if result.message else result.raised
        return [Table("", [[Cell(_cut(said), other is not None)]])]
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
            Cell(number_text(item), marked and not (n < len(fellows) and same_value(item, fellows[n])))
            for n, item in enumerate(value[: MOST_COLUMNS * 2])
        ]
        return Table(heading, [row])
    if isinstance(value, Mapping):
        return Table(heading, _mapping_rows(value, right, marked))
    return Table(heading, [[Cell(number_text(value), marked and not same_value(value, right))]])


def _headed(heading: str, value: torch.Tensor, right: Any) -> str:
    """Return a heading that names the shape where it is not the expected one."""
    other = isinstance(right, torch.Tensor) and right.shape == value.shape
    return heading if other or right is None else f"{heading} shape {tuple(value.shape)}".strip()


def _mapping_rows(value: Mapping[Any, Any], right: Any, marked: bool) -> list[list[Cell]]:
    fellows = right if isinstance(right, Mapping) else {}
    return [
        [
            Cell(number_text(key)),
            Cell(number_text(item), marked and not (key in fellows and same_value(item, fellows[key]))),
        ]
        for key, item in list(value.items())[:MOST_ROWS]
    ]


def _tensor_rows(value: torch.Tensor, right: Any, marked: bool) -> list[list[Cell]]:
    rows = value.detach().reshape(1, -1) if value.dim() < 2 else value.detach()
    fits = isinstance(right, torch.Tensor) and right.shape == value.shape
    fellows = right.reshape(rows.shape) if fits else None
    least = NEGLIGIBLE * _largest(rows)
    return [
        [
            Cell(
                number_text(rows[i, j].item(), least),
                marked and (fellows is None or not same_value(rows[i, j].item(), fellows[i, j].item())),
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
    if isinstance(value, Other):
        return f"<{value.kind}>"
    return _cut(repr(value))


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def inputs_of(names: Sequence[str], values: Sequence[Any]) -> list[tuple[str, list[Table]]]:
    """Return the inputs that are too large to stand in the call, by name."""
    large = (torch.Tensor, list, tuple, dict)
    shown = [pair for pair in zip(names, values, strict=False) if isinstance(pair[1], large)]
    return [(name, tables_of(Result(value))) for name, value in shown]


def as_text(table: Table) -> str:
    """Return a table as lines of text; entries that differ stand in angle brackets."""
    width = table.width
    lines = [f"{table.heading}:"] if table.heading else []
    for row in table.rows:
        texts = (f"›{c.text:>{width}}‹" if c.differs else f" {c.text:>{width}} " for c in row)
        lines.append(" ".join(texts))
    return "\n".join(lines)
