"""All generic edits of a cell, the likeliest first."""

from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from typing import Final

from coursework.edits.calls import call_edits
from coursework.edits.cell import Cell, Edit, distinct
from coursework.edits.statements import statement_edits
from coursework.edits.values import value_edits

MOST_ALIKE: Final = 4  # places with one text that are changed together


def generic_edits(cell: Cell) -> list[Edit]:
    """Return the edits of a cell that need no right answer, each once, in the order of their cost."""
    return distinct([*value_edits(cell), *call_edits(cell), *statement_edits(cell)], cell.source)


def everywhere(edits: Sequence[Edit], cell: Cell) -> Iterator[tuple[Edit, ...]]:
    """Yield the edits that change every place with one text alike, where a few places have it."""

    def text(edit: Edit) -> tuple[str, str]:
        start, end, new = edit.changes[0]
        return cell.data[start:end].decode(), new

    single = [each for each in edits if len(each.changes) == 1 and each.changes[0][0] < each.changes[0][1]]
    for _, group in groupby(sorted(single, key=text), key=text):
        same = sorted(group, key=lambda edit: edit.changes)
        if 1 < len(same) <= MOST_ALIKE and not any(a.meets(b) for a, b in pairwise(same)):
            yield tuple(same)
