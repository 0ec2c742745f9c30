"""What is told of the changes that were found: place and kind to everybody, the change to instructors."""

import ast
import difflib
from collections.abc import Sequence
from typing import Final

from autograder.model.report import WrongLines
from autograder.search.search import Found

MOST_PLACES: Final = 2  # that are told side by side; more say nothing
BESIDE: Final = 0.45  # by how much a change may cost more than the likeliest, and still be told
LONGEST: Final = 400  # characters of the student's lines


def told(found: Sequence[Found], source: str) -> tuple[list[WrongLines], str]:
    """Return the places to tell, none where there are too many, and the likeliest change as a difference.

    `found` begins with the likeliest change.
    """
    if not found:
        return [], ""
    near = [each for each in found if each.edit.cost <= found[0].edit.cost + BESIDE]
    places = list({(each.edit.first, each.edit.last): each for each in reversed(near)}.values())[::-1]
    if len(places) > MOST_PLACES:
        return [], ""
    lines = source.split("\n")
    told = []
    for each in places:
        others = [other for other in places if other is not each]
        told.append(_wrong_lines(each, others, lines))
    return told, difference(source, found[0].source)


def _wrong_lines(found: Found, others: Sequence[Found], lines: Sequence[str]) -> WrongLines:
    edit = found.edit
    what = edit.what
    if others:
        also = " or ".join(spoken(other.edit.first, other.edit.last) for other in others)
        what = f"{what}; a change in {also} would do as well"
    text = "\n".join(lines[edit.first - 1 : edit.last])
    return WrongLines(first=edit.first, last=edit.last, text=text[:LONGEST], what=what)


def spoken(first: int, last: int) -> str:
    """Return the name of one line, or of several."""
    return f"line {first}" if first == last else f"lines {first} to {last}"


def difference(source: str, changed: str) -> str:
    """Return how a cell was changed, line by line, in one form of writing for both: for instructors."""
    try:
        before, after = (ast.unparse(ast.parse(each)).split("\n") for each in (source, changed))
    except (SyntaxError, ValueError, RecursionError):
        return ""
    changes = difflib.unified_diff(before, after, lineterm="", n=0)
    return "\n".join(line for line in changes if not line.startswith(("---", "+++", "@@")))
