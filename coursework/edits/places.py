"""What is told of the changes with which an answer is right: their places and kinds, never the changes."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from coursework.console import with_capital
from coursework.edits.cell import MISSING, OUT, CodeEdit

# What follows the kind of change in `what`, where there is more than one place.
OR_ELSE, TOGETHER_WITH = "; a change in ", ", together with "
IN_ANOTHER_PLACE: Final = 0.4  # what a change costs more for each place more in which it is made alike
THESE: Final = "these lines"  # in the kind of a change: their numbers take its place
MARGIN: Final = 0.4  # by how much a change may cost more than the first that was found, to be tried at all
MOST_AFTER: Final = 96  # changes that are tried after the first that was found
BOTH: Final = 2
MOST_PLACES: Final = 2  # that are told side by side; more say nothing
BESIDE: Final = 0.4  # by how much a change may cost more than the likeliest, and still be told
SEVERAL: Final = "several changes"  # of one line
TWICE: Final = ", twice"  # after the kind of two changes alike in one line
VAGUE: Final = (
    SEVERAL,
    "another expression",
    "another statement",
    "another call",
    "something more",
    "something less",
)
LONGEST: Final = 400  # characters of the student's lines


@dataclass(frozen=True)
class CodeChange:
    """Changes with which an answer is right, one or a few together, in the order of its lines."""

    edits: tuple[CodeEdit, ...]
    answer: str

    @cached_property
    def source(self) -> str:
        """The cell with the changes made."""
        changes = tuple(change for edit in self.edits for change in edit.changes)
        return CodeEdit(changes, self.edits[0].first, self.edits[-1].last, self.edits[0].what).apply(
            self.answer
        )

    @property
    def cost(self) -> float:
        """What the changes cost together: less where they are one change, made in several places."""
        costs = [edit.cost for edit in self.edits]
        alike = len({(edit.what, edit.changes[0][2]) for edit in self.edits}) == 1
        return max(costs) + IN_ANOTHER_PLACE * (len(costs) - 1) if alike else sum(costs)


def combined(source: str, edits: Sequence[CodeEdit]) -> CodeChange:
    """Return several edits as one change."""
    return CodeChange(tuple(sorted(edits, key=lambda each: (each.first, each.last))), source)


class Place:
    """Lines of an answer, and what kind of change they need; see `OR_ELSE` and `TOGETHER_WITH`."""

    first: int
    last: int
    what: str

    @property
    def is_gap(self) -> bool:
        """Whether something is missing between the first line and the last, or after one at the end."""
        return self.what.startswith(MISSING)

    @property
    def kind(self) -> str:
        """The kind of change alone."""
        return self.what.partition(OR_ELSE)[0].partition(TOGETHER_WITH)[0]

    @property
    def place(self) -> str:
        """What the place is called: "line 3", "lines 3 to 5", "between lines 3 and 4", "after line 6"."""
        if self.is_gap and self.first == self.last:
            return f"after line {self.first}"
        if self.is_gap:
            return f"between lines {self.first} and {self.last}"
        return spoken(self.first, self.last)


@dataclass(frozen=True)
class Told(Place):
    """A place as it is told, with the student's own text there."""

    first: int
    last: int
    text: str
    what: str


def told(found: Sequence[CodeChange], source: str) -> list[Told]:
    """Return the places to tell, none where there are too many.

    `found` begins with the likeliest change.
    """
    if not found:
        return []
    lines = source.split("\n")
    edits = sorted(found[0].edits, key=lambda edit: edit.first)
    if len(edits) > 1:
        return [] if _goes_around(edits) else _all_wrong(edits, lines)
    near = [each.edits[0] for each in found if len(each.edits) == 1 and each.cost <= found[0].cost + BESIDE]
    near = _last_gaps(near)
    places = list(
        {(each.first, each.last): each for each in sorted(near, key=vagueness, reverse=True)}.values()
    )
    if len(places) > MOST_PLACES:
        added = {edit.changes[0][2].replace(_replaced(edit, source), "") for edit in places}
        if len(added) > 1:
            return []
        places = sorted(places, key=lambda each: each.first)[-MOST_PLACES:]  # the same, made later and later
    places.sort(key=near.index)
    return [_alone(each, [other for other in places if other is not each], lines) for each in places]


def _goes_around(edits: Sequence[CodeEdit]) -> bool:
    """Return whether changes made together may go around what is wrong, rather than mend it.

    With one statement gone, or put in, and another one new, nearly everything can be made right. A statement
    is as good as new if several things in it change.
    """
    kinds = {each.what for each in edits}
    several = len({(each.first, each.last) for each in edits}) < len(edits)
    new = several or any(kind in VAGUE or kind.startswith("another call") for kind in kinds)
    return new and not kinds.isdisjoint((OUT, MISSING))


def _replaced(edit: CodeEdit, source: str) -> str:
    start, end, _ = edit.changes[0]
    return source.encode()[start:end].decode()


def _last_gaps(edits: Sequence[CodeEdit]) -> list[CodeEdit]:
    """Return edits without those that put in what another one puts in further down, where all is at hand."""
    last = {each.changes[0][2].strip(): each for each in sorted(edits, key=lambda each: each.first)}
    return [each for each in edits if each.what != MISSING or last[each.changes[0][2].strip()] is each]


def vagueness(edit: CodeEdit) -> int:
    """Return how little the kind of a change says: of two in one place, the other is told."""
    return (edit.what in VAGUE) + (edit.what == "another statement")


def _alone(edit: CodeEdit, others: Sequence[CodeEdit], lines: Sequence[str]) -> Told:
    """Return one place; where a change elsewhere would do as well, it says so."""
    also = " or ".join(spoken(other.first, other.last) for other in others)
    what = f"{edit.what}{OR_ELSE}{also} would do as well" if others else edit.what
    return _told(edit, what, lines)


def _all_wrong(edits: Sequence[CodeEdit], lines: Sequence[str]) -> list[Told]:
    """Return places that are all wrong: each line once, and no gap beside a line if two others are told.

    Of several changes in one line, the kind of one would not be enough.
    """
    once: dict[tuple[int, int], CodeEdit] = {}
    for edit in reversed(edits):
        other = once.get((edit.first, edit.last))
        if other is None or edit.what == other.what == MISSING:
            once[edit.first, edit.last] = edit
        else:
            what = edit.what + TWICE if edit.what == other.what else SEVERAL
            once[edit.first, edit.last] = replace(edit, what=what)
    places = [*once.values()][::-1]
    shown = {line for each in places if each.what != MISSING for line in range(each.first, each.last + 1)}
    apart = [each for each in places if each.what != MISSING or shown.isdisjoint((each.first, each.last))]
    places = apart if len(apart) > 1 else places  # one line alone would not be enough
    found = []
    for edit in places:
        also = " and ".join(spoken(other.first, other.last) for other in places if other is not edit)
        what = f"{edit.what}{TOGETHER_WITH}{also}" if also else edit.what
        found.append(_told(edit, what, lines))
    return found


def _told(edit: CodeEdit, what: str, lines: Sequence[str]) -> Told:
    at_the_end = edit.what == MISSING and not "".join(lines[edit.first :]).strip()
    last = edit.first if at_the_end else edit.last
    text = "\n".join(lines[edit.first - 1 : last])
    return Told(edit.first, last, text[:LONGEST], what)


def spoken(first: int, last: int) -> str:
    """Return the name of one line, or of several."""
    return f"line {first}" if first == last else f"lines {first} to {last}"


def blame(lines: Sequence[Place] | None, everything: str = "everything") -> str:
    """Return a sentence on where a small change makes everything pass; empty if no place is known."""
    if not lines:
        return ""
    first = lines[0]
    if len(lines) > 1 and OR_ELSE not in first.what:
        if any(each.is_gap for each in lines):
            places = [
                f"something added {each.place}" if each.is_gap else f"{each.place} changed" for each in lines
            ]
            return f"With {' and '.join(places)}, {everything} passes."
        places = [each.place.removeprefix("lines ").removeprefix("line ") for each in lines]
        many = "both" if len(lines) == BOTH else "all"
        return f"With lines {', '.join(places[:-1])} and {places[-1]} {many} changed, {everything} passes."
    if first.is_gap:
        said = f"Something is missing {first.place}."
    else:
        which = "" if first.kind.startswith("without") else "with "
        kind = f"{first.kind} in {first.place}"
        if THESE in first.kind:
            kind = first.kind.replace(THESE, first.place)
        said = f"{with_capital(everything)} passes {which}{kind}."
    also = " or ".join(each.place for each in lines[1:])
    return f"{said} A change {'' if lines[-1].is_gap else 'in '}{also} would do as well." if also else said
