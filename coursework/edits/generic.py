"""All generic edits of a cell, the likeliest first."""

import ast
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from typing import Final

from coursework.edits.calls import call_edits
from coursework.edits.cell import Cell, CodeEdit, distinct, is_set
from coursework.edits.statements import statement_edits
from coursework.edits.values import value_edits

MOST_ALIKE: Final = 4  # places with one text that are changed together


def generic_edits(cell: Cell) -> list[CodeEdit]:
    """Return the edits of a cell that need no right answer, each once, in the order of their cost."""
    return distinct([*value_edits(cell), *call_edits(cell), *statement_edits(cell)], cell.source)


def everywhere(edits: Sequence[CodeEdit], cell: Cell) -> Iterator[tuple[CodeEdit, ...]]:
    """Yield the edits that change every place with one text alike, where a few places have it."""

    def text(edit: CodeEdit) -> tuple[str, str]:
        start, end, new = edit.changes[0]
        return cell.data[start:end].decode(), new

    single = [each for each in edits if len(each.changes) == 1 and each.changes[0][0] < each.changes[0][1]]
    for _, group in groupby(sorted(single, key=text), key=text):
        same = sorted(group, key=lambda edit: edit.changes)
        if 1 < len(same) <= MOST_ALIKE and not any(a.meets(b) for a, b in pairwise(same)):
            yield tuple(same)


def elsewhere(edit: CodeEdit, cell: Cell) -> list[CodeEdit]:
    """Return the edit that does the same with a value one line on, where it is used; or where it was given.

    `y = f(x)` and then `return y`: what belongs around the one belongs as well around the other.
    """
    if len(edit.changes) != 1:
        return []
    start, end, new = edit.changes[0]
    old = cell.data[start:end].decode()
    if old not in new:
        return []
    found = []
    for block in cell.blocks:
        for above, below in pairwise(block):
            if not (isinstance(above, ast.Assign) and len(above.targets) == 1 and is_set(above.targets[0])):
                continue
            name, value = above.targets[0].id, above.value
            uses = [each for each in ast.walk(below) if isinstance(each, ast.Name) and each.id == name]
            if (
                isinstance(below, (ast.Assign, ast.Return, ast.Expr))
                and len(uses) == 1
                and uses[0] in cell.parents
            ):
                for here, there in ((value, uses[0]), (uses[0], value)):
                    if cell.span(here) == (start, end):
                        text = cell.text(there)
                        moved = new.replace(old, f"({text})" if there is value else text)
                        found.append(cell.edit(there, moved, edit.what, edit.cost))
    return found
