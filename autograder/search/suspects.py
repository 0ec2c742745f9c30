"""Which lines of a wrong answer are probably wrong, before any change is tried: changes there come first."""

import ast
import re
from collections import Counter
from difflib import SequenceMatcher
from typing import Final

from autograder.model.errors import StaleEditError
from autograder.model.exercise import Exercise, Mistake
from autograder.search.pairing import functions_alike, paired
from coursework.edits.cell import Cell

KNOWN: Final = 0.8  # how much less a change costs where a known mistake is
MOST_LINES: Final = 2  # that share names with a known mistake
ALIKE: Final = 0.6  # of the weight of the first of them, at least
NAME: Final = re.compile(r"[A-Za-z_]\w*")


def lines_of_mistake(cell: Cell, exercise: Exercise, mistake: Mistake) -> set[int]:
    """Return the lines of a cell that are like those which a known mistake changes in the model answer.

    They are the ones that take their place in the answer or, if there are none, share the most telling names.
    """
    right = exercise.answer
    try:
        wrong = Cell(mistake.apply(right))
    except (StaleEditError, SyntaxError, ValueError):
        return set()
    found: set[int] = set()
    changed = _changed_lines(right, wrong.source)
    for mine, other in functions_alike(cell, wrong):
        pairing = paired(mine, other, {})
        for here, there in pairing.pairs:
            if changed & _own_lines(pairing.right[there]):
                found |= _own_lines(pairing.mine[here])
    if found:
        return found
    return _lines_with(
        _names(wrong.source, changed) | _names(right, _changed_lines(wrong.source, right)), cell
    )


def _names(source: str, lines: set[int]) -> set[str]:
    """Return the names in some lines of a text."""
    text = source.split("\n")
    return set(NAME.findall("\n".join(text[line - 1] for line in lines if 0 < line <= len(text))))


def _lines_with(names: set[str], cell: Cell) -> set[int]:
    """Return the lines of a cell that use the most of some names; a name that few lines use counts more."""
    lines = [set(NAME.findall(line)) for line in cell.source.split("\n")]
    often = Counter(name for line in lines for name in line)
    weights = {number: sum(1 / often[name] for name in line & names) for number, line in enumerate(lines, 1)}
    best = sorted(weights, key=lambda number: -weights[number])[:MOST_LINES]
    return {number for number in best if weights[number] > ALIKE * weights[best[0]] > 0}


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
