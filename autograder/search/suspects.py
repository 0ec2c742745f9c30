"""Which lines of a wrong answer are probably wrong, before any change is tried: changes there come first."""

import ast
from collections.abc import Iterable, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from typing import Final

from autograder.model.errors import StaleEditError
from autograder.model.exercise import Exercise, Mistake
from autograder.search.donors import functions_alike, paired
from coursework.edits.cell import Cell, Edit

KNOWN: Final = 0.8  # how much less a change costs where a known mistake is
RAISED: Final = 0.5  # in the line that raised an exception, and where its variables are given values
ENDLESS: Final = 1.2  # how much more where a loop would probably never end


def lines_of_mistakes(cell: Cell, exercise: Exercise, mistakes: Iterable[Mistake]) -> set[int]:
    """Return the lines of a cell that are like those which known mistakes change in the model answer."""
    found: set[int] = set()
    for mistake in mistakes:
        try:
            wrong = Cell(mistake.apply(exercise.answer))
        except (StaleEditError, SyntaxError, ValueError):
            continue
        changed = _changed_lines(exercise.answer, wrong.source)
        for mine, other in functions_alike(cell, wrong):
            pairing = paired(mine, other, {})
            for here, there in pairing.pairs:
                if changed & _own_lines(pairing.right[there]):
                    found |= _own_lines(pairing.mine[here])
    return found


def _changed_lines(right: str, wrong: str) -> set[int]:
    """Return the lines of the wrong text that differ; where lines were left out, those around the gap."""
    found: set[int] = set()
    blocks = SequenceMatcher(None, right.split("\n"), wrong.split("\n"), autojunk=False).get_opcodes()
    for what, _, _, first, last in blocks:
        if what == "delete":
            found |= {first, first + 1}
        elif what != "equal":
            found |= {*range(first + 1, last + 1)}
    return found


def _own_lines(statement: ast.stmt) -> set[int]:
    """Return the lines of a statement; of one with a block of its own, those above the block."""
    body = getattr(statement, "body", None)
    last = body[0].lineno - 1 if isinstance(body, list) and body else statement.end_lineno
    return {*range(statement.lineno, max(statement.lineno, last or 0) + 1)}


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


def steered(edits: Sequence[Edit], lines: set[int], less: float) -> list[Edit]:
    """Return edits, those that concern some lines at a lower cost."""
    return [
        replace(each, cost=each.cost - less)
        if not lines.isdisjoint(range(each.first, each.last + 1))
        else each
        for each in edits
    ]


def without_haste(edits: Sequence[Edit], cell: Cell) -> list[Edit]:
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
