"""Which lines of a wrong answer are probably wrong, before any change is tried: changes there come first."""

import ast
from collections.abc import Iterable
from difflib import SequenceMatcher
from typing import Final

from autograder.model.errors import StaleEditError
from autograder.model.exercise import Exercise, Mistake
from autograder.search.donors import functions_alike, paired
from coursework.edits.cell import Cell

KNOWN: Final = 0.8  # how much less a change costs where a known mistake is


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
