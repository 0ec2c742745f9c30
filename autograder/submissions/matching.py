"""Finds out which cell of the released lesson each submitted cell is.

Unchanged cells are recognised by their text, others by grade id or cell id. An answer that is still
missing is recognised by the name it defines, in whichever cell it stands, and a written answer by
the cells next to it, or else by the words that it shares with the question.
"""

import itertools
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from nbformat import NotebookNode

from autograder.model.exercise import ANSWERS
from autograder.submissions.answer_text import defines, same_code, stripped, without
from autograder.submissions.nbgrader_cells import grade_id, is_graded, is_solution
from autograder.submissions.notebook_file import RawCell

BY_NAME = "{exercise}: the answer was recognised by what it defines"
BY_PLACE = "{exercise}: the answer was recognised by its place in the notebook"
BY_WORDS = "{exercise}: the answer was recognised by the words that it shares with the question"
WORD = re.compile(r"[^\W\d_]{4,}")  # shorter words say little
MOST_WORDS = 20_000  # characters of an answer that are compared with the question


class Matching:
    """The places of submitted cells in the released lesson.

    `places` gives, for each submitted cell, the index of the release's cell that it is, or None.
    `texts` are the cells' texts, without the answers that were moved to `taken`. `taken` maps the
    index of an exercise's cell to the answer that was found in another cell.
    """

    def __init__(
        self, release: Sequence[NotebookNode], submitted: Sequence[RawCell], names: Mapping[str, str]
    ) -> None:
        """Match; `names` maps each exercise id to the name that its answer has to define."""
        self._release, self._cells, self._names = release, submitted, names
        self.places = list(self._places_by_text_and_id())
        self.texts = [cell.source for cell in submitted]
        self.taken: dict[int, str] = {}
        self._taken_from: dict[int, int] = {}
        self.repairs: list[str] = []
        self._match_by_name()
        self._match_by_neighbours()
        self._match_by_words()

    @property
    def found(self) -> bool:
        """Whether any exercise of the lesson was found."""
        graded = (self._release[place] for place in self.places if place is not None)
        if any(is_solution(cell) or is_graded(cell) for cell in graded):
            return True
        taken = [
            (place, index)
            for place, index in self._taken_from.items()
            if self.places[index] is None and self._name(place) != ANSWERS
        ]
        # One name may occur in another lesson, in a cell that has an id there; several do not.
        return len(taken) > 1 or any(self._cells[index].grade_id is None for _, index in taken)

    def at(self, place: int) -> list[int]:
        """Return the indices of the submitted cells that are this cell of the release."""
        return [index for index, found in enumerate(self.places) if found == place]

    def anchors(self) -> Iterator[tuple[int, int]]:
        """Yield each cell that isn't in the release, and the release's cell that it runs after.

        That is the cell before it, or an earlier one if the next cell comes earlier in the release.
        """
        before = -1
        for index, place in enumerate(self.places):
            if place is None:
                after = next((p for p in self.places[index:] if p is not None), before)
                yield index, before if after >= before else after - 1
            else:
                before = place

    def _places_by_text_and_id(self) -> Iterator[int | None]:
        """Yield the place of each submitted cell according to its own text and ids, or None."""
        texts = [stripped(cell.source) for cell in self._release]
        counts = Counter(texts)
        by_text = {text: n for n, text in enumerate(texts) if text and counts[text] == 1}
        by_grade_id = {name: n for n, cell in enumerate(self._release) if (name := grade_id(cell))}
        by_id = {cell.get("id"): n for n, cell in enumerate(self._release)}
        for cell in self._cells:
            found = by_text.get(stripped(cell.source))
            if found is None and cell.grade_id is not None:
                found = by_grade_id.get(cell.grade_id)
            known = (by_id[own] for own in cell.ids if own in by_id)
            yield next(known, None) if found is None else found

    def _name(self, place: int) -> str:
        """Return the name that the answer at a place has to define; '' for other cells."""
        cell = self._release[place]
        answer = cell.cell_type == "code" and is_solution(cell)
        return self._names.get(grade_id(cell) or "", "") if answer else ""

    def _match_by_name(self) -> None:
        """Look for each answer that isn't in its own cell in everything that the student wrote."""
        for place, cell in enumerate(self._release):
            name = self._name(place)
            defining = [n for n, text in enumerate(self.texts) if name and defines(text, name)]
            if any(self.places[n] == place and self._edited(n, place) for n in defining):
                continue
            elsewhere = [n for n in defining if self._edited(n, self.places[n])]
            if elsewhere:
                self._take(elsewhere[-1], place, name)
                self.repairs.append(BY_NAME.format(exercise=grade_id(cell)))

    def _edited(self, index: int, place: int | None) -> bool:
        """Return whether a student wrote or changed a cell whose place is `place`."""
        return place is None or not same_code(self.texts[index], self._release[place].source)

    def _take(self, index: int, place: int, name: str) -> None:
        """Move the answer of one exercise out of a cell; the rest of the cell stays there."""
        text, others = self.texts[index], set(self._names.values()) - {name, ""}
        self.taken[place], self._taken_from[place] = without(text, others), index
        self.texts[index] = without(text, {name})

    def _match_by_neighbours(self) -> None:
        """Recognise a written answer that lost its ids by the cell before or after it."""
        for place, cell in enumerate(self._release):
            written = is_solution(cell) and cell.cell_type == "markdown"
            if not written or self.at(place):
                continue
            candidates = [index for index in self._beside(place) if self.texts[index].strip()]
            if candidates:
                self.places[candidates[-1]] = place
                self.repairs.append(BY_PLACE.format(exercise=grade_id(cell)))

    def _beside(self, place: int) -> Iterator[int]:
        """Yield the unmatched text cells next to a neighbour of this place."""
        for index, found in enumerate(self.places):
            prose = found is None and self._cells[index].cell_type != "code"
            before = self.places[index - 1] if index else -1
            after = self.places[index + 1] if index + 1 < len(self.places) else -1
            if prose and (before == place - 1 or after == place + 1):
                yield index

    def _match_by_words(self) -> None:
        """Recognise written answers in a notebook without the lesson's prose, by what they are about."""
        if any(self._is_prose(place) for place in self.places if place is not None):
            return
        missing = {
            place: _words(cell.source) | _words(self._release[place - 1].source)
            for place, cell in enumerate(self._release)
            if is_solution(cell) and self._is_prose(place)
        }
        answers = {
            index: _words(self.texts[index])
            for index, found in enumerate(self.places)
            if found is None and self._cells[index].cell_type != "code" and self.texts[index].strip()
        }
        while missing and answers:
            pairs = itertools.product(missing, answers)
            place, index = max(pairs, key=lambda pair: len(missing[pair[0]] & answers[pair[1]]))
            if not missing.pop(place) & answers.pop(index):
                return
            self.places[index] = place
            self.repairs.append(BY_WORDS.format(exercise=grade_id(self._release[place])))

    def _is_prose(self, place: int) -> bool:
        return bool(self._release[place].cell_type == "markdown")


def _words(text: str) -> frozenset[str]:
    return frozenset(word.lower() for word in WORD.findall(text[:MOST_WORDS]))
