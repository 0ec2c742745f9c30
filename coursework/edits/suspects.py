"""Which changes of a wrong answer are likelier than others, by what its run and its loops show."""

import ast
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from coursework.edits.cell import Cell, CodeEdit

RAISED: Final = 0.5  # how much less a change costs in a line that raised, and where its variables are set
ENDLESS: Final = 1.2  # how much more where a loop would probably never end


def lines_behind(cell: Cell, line: int | None) -> set[int]:
    """Return a line that raised an exception, and those that set the variables that it is the first to use.

    A variable that lines above used without an exception is less suspect.
    """
    if line is None:
        return set()
    names = [node for node in cell.nodes if isinstance(node, ast.Name)]
    used = {node.id for node in names if isinstance(node.ctx, ast.Load) and node.lineno == line}
    before = {node.id for node in names if isinstance(node.ctx, ast.Load) and node.lineno < line}
    wanted = used - before or used
    return {line} | {node.lineno for node in names if isinstance(node.ctx, ast.Store) and node.id in wanted}


def lines_of_loops(cell: Cell) -> set[int]:
    """Return the lines of the loops in a cell, one of which did not end."""
    loops = [node for node in cell.nodes if isinstance(node, (ast.While, ast.For))]
    return {line for each in loops for line in range(each.lineno, (each.end_lineno or each.lineno) + 1)}


def steered(edits: Sequence[CodeEdit], lines: set[int], less: float) -> list[CodeEdit]:
    """Return edits, those that concern some lines at a lower cost."""
    return [
        replace(each, cost=each.cost - less)
        if not lines.isdisjoint(range(each.first, each.last + 1))
        else each
        for each in edits
    ]


def without_haste(edits: Sequence[CodeEdit], cell: Cell) -> list[CodeEdit]:
    """Return edits, those at a higher cost that change what ends a `while`: most such loops never end."""
    spans = []
    for loop in [node for node in cell.nodes if isinstance(node, ast.While)]:
        tested = {node.id for node in ast.walk(loop.test) if isinstance(node, ast.Name)}
        spans.append(cell.span(loop.test))
        for each in ast.walk(loop):
            if isinstance(each, (ast.Assign, ast.AugAssign, ast.Break)):
                names = {node.id for node in ast.walk(each) if isinstance(node, ast.Name)}
                if names & tested or isinstance(each, ast.Break):
                    spans.append(cell.span(each))
    return [
        replace(each, cost=each.cost + ENDLESS)
        if any(a < d and c < b for a, b, _ in each.changes for c, d in spans)
        else each
        for each in edits
    ]
