"""All generic edits of a cell, the likeliest first."""

from coursework.edits.calls import call_edits
from coursework.edits.cell import Cell, Edit, distinct
from coursework.edits.statements import statement_edits
from coursework.edits.values import value_edits


def generic_edits(cell: Cell) -> list[Edit]:
    """Return the edits of a cell that need no right answer, each once, in the order of their cost."""
    return distinct([*value_edits(cell), *call_edits(cell), *statement_edits(cell)], cell.source)
