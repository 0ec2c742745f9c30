"""What is told of the changes that were found: place and kind to everybody, the change to instructors."""

import ast
import difflib
from collections.abc import Sequence
from typing import Final

from autograder.model.report import OR_ELSE, TOGETHER_WITH, WrongLines
from autograder.search.search import Found
from coursework.edits.cell import MISSING, Edit

MOST_PLACES: Final = 2  # that are told side by side; more say nothing
BESIDE: Final = 0.4  # by how much a change may cost more than the likeliest, and still be told
VAGUE: Final = ("another expression", "another statement", "another call", "something more", "something less")
LONGEST: Final = 400  # characters of the student's lines


def told(found: Sequence[Found], source: str) -> tuple[list[WrongLines], str]:
    """Return the places to tell, none where there are too many, and the likeliest change as a difference.

    `found` begins with the likeliest change.
    """
    if not found:
        return [], ""
    change = difference(source, found[0].source)
    lines = source.split("\n")
    edits = sorted(found[0].edits, key=lambda edit: edit.first)
    if len(edits) > 1:
        return _together(edits, lines), change
    near = [each.edits[0] for each in found if len(each.edits) == 1 and each.cost <= found[0].cost + BESIDE]
    near = _last_gaps(near)
    places = list({(each.first, each.last): each for each in sorted(near, key=_vague, reverse=True)}.values())
    if len(places) > MOST_PLACES:
        added = {edit.changes[0][2].replace(_replaced(edit, source), "") for edit in places}
        if len(added) > 1:
            return [], ""
        places = sorted(places, key=lambda each: each.first)[-MOST_PLACES:]  # the same, made later and later
    places.sort(key=near.index)
    return [_alone(each, [other for other in places if other is not each], lines) for each in places], change


def _replaced(edit: Edit, source: str) -> str:
    start, end, _ = edit.changes[0]
    return source.encode()[start:end].decode()


def _last_gaps(edits: Sequence[Edit]) -> list[Edit]:
    """Return edits without those that put in what another one puts in further down, where all is at hand."""
    last = {each.changes[0][2].strip(): each for each in sorted(edits, key=lambda each: each.first)}
    return [each for each in edits if each.what != MISSING or last[each.changes[0][2].strip()] is each]


def _vague(edit: Edit) -> int:
    """Return how little the kind of a change says: of two in one place, the other is told."""
    return (edit.what in VAGUE) + (edit.what == "another statement")


def _alone(edit: Edit, others: Sequence[Edit], lines: Sequence[str]) -> WrongLines:
    """Return one place; where a change elsewhere would do as well, it says so."""
    also = " or ".join(spoken(other.first, other.last) for other in others)
    what = f"{edit.what}{OR_ELSE}{also} would do as well" if others else edit.what
    return _wrong_lines(edit, what, lines)


def _together(edits: Sequence[Edit], lines: Sequence[str]) -> list[WrongLines]:
    """Return places that are all wrong: each line once, and no gap beside a line that is told."""
    places = list({(each.first, each.last): each for each in reversed(edits)}.values())[::-1]
    told = {line for each in places if each.what != MISSING for line in range(each.first, each.last + 1)}
    places = [each for each in places if each.what != MISSING or told.isdisjoint((each.first, each.last))]
    found = []
    for edit in places:
        also = " and ".join(spoken(other.first, other.last) for other in places if other is not edit)
        what = f"{edit.what}{TOGETHER_WITH}{also}" if also else edit.what
        found.append(_wrong_lines(edit, what, lines))
    return found


def _wrong_lines(edit: Edit, what: str, lines: Sequence[str]) -> WrongLines:
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
