"""Finds out which cell of the released lesson each submitted cell is.

Cells are recognised by their text where it is unchanged, by grade id, and by cell id; answers that
are still not found, by what they define, wherever that stands; written ones by their neighbours.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from autograder.answer_text import blank, defines, plain, same_code, without
from autograder.notebook_file import Cell

ELSEWHERE = "{exercise}: the answer was recognised by what it defines"
BY_PLACE = "{exercise}: the answer was recognised by where it stands"
SHARED_NAME = "answers"  # what every lesson calls its choices: it says nothing about whose they are


@dataclass
class _Master:
    """The released lesson, looked up by id and by text."""

    cells: Sequence[Any]

    def __post_init__(self) -> None:
        texts = [plain(cell.source) for cell in self.cells]
        counts = Counter(texts)
        self.by_text = {t: n for n, t in enumerate(texts) if t and counts[t] == 1}
        self.by_grade_id = {
            name: n for n, cell in enumerate(self.cells) if (name := grade_id(cell))
        }
        self.by_id = {cell.get("id"): n for n, cell in enumerate(self.cells)}

    def place(self, cell: Cell) -> int | None:
        """Return which cell it is, as far as its own text and ids tell."""
        found = self.by_text.get(plain(cell.source))
        if found is None and cell.grade_id is not None:
            found = self.by_grade_id.get(cell.grade_id)
        known = (self.by_id[own] for own in cell.ids if own in self.by_id)
        return next(known, None) if found is None else found


class Matching:
    """The places of submitted cells in a lesson.

    `places` says of each submitted cell which of the master's it is, or None. `texts` are their
    texts, less what was `taken` out as the answer of another exercise: by the master's place.
    """

    def __init__(
        self, master: Sequence[Any], submitted: Sequence[Cell], names: Mapping[str, str]
    ) -> None:
        """Match; `names` says what each exercise has to define."""
        self._master, self._cells, self._names = _Master(master), submitted, names
        self.places = [self._master.place(cell) for cell in submitted]
        self.texts = [cell.source for cell in submitted]
        self.taken: dict[int, str] = {}
        self._from: dict[int, int] = {}
        self.repairs: list[str] = []
        self._by_definition()
        self._by_neighbours()

    @property
    def found(self) -> bool:
        """Whether any exercise of the lesson is there."""
        known = any(place is not None and self._graded(place) for place in self.places)
        return known or any(self._speaks_for(place, index) for place, index in self._from.items())

    def at(self, place: int) -> list[int]:
        """Return which submitted cells are this cell of the master."""
        return [index for index, found in enumerate(self.places) if found == place]

    def anchors(self) -> Iterator[tuple[int, int]]:
        """Yield each cell that is none of the master's, and the master's cell it runs after.

        It runs after what stood before it, and before what came after it, if the two do not agree.
        """
        before = -1
        for index, place in enumerate(self.places):
            if place is None:
                after = next((p for p in self.places[index:] if p is not None), len(self.places))
                yield index, min(before, after - 1) if after < before else before
            else:
                before = place

    def _speaks_for(self, place: int, index: int) -> bool:
        """Whether an answer found elsewhere says whose lesson it is: others use such names as well."""
        own_cell = self.places[index] is None and self._cells[index].grade_id is None
        return own_cell and self._name(place) != SHARED_NAME

    def _graded(self, place: int) -> bool:
        about = self._master.cells[place].metadata.get("nbgrader", {})
        return bool(about.get("solution") or about.get("grade"))

    def _name(self, place: int) -> str:
        """Return what the answer at a place has to define; nothing for other cells."""
        cell = self._master.cells[place]
        answer = cell.cell_type == "code" and cell.metadata.get("nbgrader", {}).get("solution")
        return self._names.get(grade_id(cell) or "", "") if answer else ""

    def _by_definition(self) -> None:
        """Look for every answer that is not in its cell among all that the student wrote."""
        for place, cell in enumerate(self._master.cells):
            name = self._name(place)
            if not name or any(self._answers(index, place, name) for index in self.at(place)):
                continue
            elsewhere = [n for n, text in enumerate(self.texts) if defines(text, name)]
            theirs = [index for index in elsewhere if self._is_theirs(index)]
            if theirs:
                self._take(theirs[-1], place, name)
                self.repairs.append(ELSEWHERE.format(exercise=grade_id(cell)))

    def _answers(self, index: int, place: int, name: str) -> bool:
        """Whether a submitted cell holds the answer that belongs at a place."""
        text = self.texts[index]
        return defines(text, name) and not same_code(text, self._master.cells[place].source)

    def _is_theirs(self, index: int) -> bool:
        """Whether a student wrote a cell, or changed it."""
        place, text = self.places[index], self.texts[index]
        return place is None or not same_code(text, self._master.cells[place].source)

    def _take(self, index: int, place: int, name: str) -> None:
        """Take the answer of one exercise out of a cell, and leave there what is not about it."""
        text, others = self.texts[index], set(self._names.values()) - {name, ""}
        self.taken[place], self._from[place] = without(text, others), index
        self.texts[index] = without(text, {name})

    def _by_neighbours(self) -> None:
        """Recognise a written answer that lost its ids by the cell before or after it."""
        for place, cell in enumerate(self._master.cells):
            about = cell.metadata.get("nbgrader", {})
            written = about.get("solution") and cell.cell_type == "markdown"
            if not written or self.at(place):
                continue
            candidates = [index for index in self._beside(place) if self.texts[index].strip()]
            if candidates:
                self.places[candidates[-1]] = place
                self.repairs.append(BY_PLACE.format(exercise=grade_id(cell)))

    def _beside(self, place: int) -> Iterator[int]:
        """Yield text cells without a place that stand beside one of the place's neighbours."""
        for index, found in enumerate(self.places):
            prose = found is None and self._cells[index].cell_type != "code"
            before = self.places[index - 1] if index else -1
            after = self.places[index + 1] if index + 1 < len(self.places) else -1
            if prose and (before == place - 1 or after == place + 1):
                yield index


def grade_id(cell: Any) -> str | None:
    """Return the nbgrader id of a notebook's cell, or None."""
    about = cell.metadata.get("nbgrader")
    found = about.get("grade_id") if isinstance(about, dict) else None
    return found if isinstance(found, str) else None


def written_in(text: str, skeleton: str) -> bool:
    """Return whether a cell holds anything but the skeleton, comments and white space."""
    return not blank(text) and not same_code(text, skeleton)
