"""Aligns a submission with the released lesson: locked cells from the release, answers from the student.

An answer that is tried alone takes along the cells that it needs.

A student loses no points for cells that were duplicated, split, merged, moved, retyped or stripped
of their metadata. Every repair is listed.
"""

import builtins
import copy
import itertools
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from autograder.model.course import Course
from autograder.model.errors import WrongFileError
from autograder.model.exercise import ANSWERS
from autograder.submissions.answer_text import (
    extract,
    is_blank,
    names_in,
    parses,
    same_code,
    undefined_words,
    without,
)
from autograder.submissions.notebook_file import RawCell, RawNotebook, read_submission
from autograder.submissions.released import (
    exercise_of,
    grade_id,
    is_graded,
    is_solution,
    metadata,
    released_notebook,
)
from coursework.cells import defines, stripped

BUILTINS = frozenset(vars(builtins))
WORD = re.compile(r"[^\W\d_]{4,}")  # shorter words say little
MOST_WORDS = 20_000  # characters of an answer that are compared with the question


class Role(StrEnum):
    """What a cell of an aligned notebook is for."""

    LOCKED = "locked"
    SOLUTION = "solution"
    TEST = "test"
    WRITTEN = "written"
    OWN = "own"  # a code cell that the student added
    OTHER = "other"


@dataclass(frozen=True)
class Part:
    """One cell of an aligned notebook: its role, its text and the exercise it belongs to."""

    role: Role
    source: str
    exercise: str | None = None
    missing: bool = False
    unanswered: bool = False

    @property
    def runs(self) -> bool:
        """Whether grading executes the cell."""
        return not self.missing and self.role in (Role.LOCKED, Role.SOLUTION, Role.OWN)


@dataclass
class Aligned:
    """A submission in the order of the released lesson, with one part for each cell.

    `changed` names the locked cells that the student edited.
    """

    notebook: NotebookNode
    parts: list[Part]
    repairs: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)


def align(course: Course, lesson: str, path: Path, names: Mapping[str, str]) -> Aligned:
    """Align the notebook at `path` with the released lesson.

    `names` maps each exercise id to the name that its answer has to define. Raises SubmissionError
    if the file is not a notebook, WrongFileError if it is not one of this lesson, and CourseError if
    the lesson was never released.
    """
    alignment = _Alignment(released_notebook(course, lesson), read_submission(path, course), names)
    if not alignment.matching.found:
        raise WrongFileError(
            f"{path.name} is a notebook, but not of lesson '{lesson}': it contains none of its exercises"
        )
    return alignment.result()


def empty(course: Course, lesson: str) -> Aligned:
    """Return the released lesson with every answer missing, for a submission without a notebook."""
    return _Alignment(released_notebook(course, lesson), RawNotebook([]), {}).result()


def needed_cells(parts: Sequence[Part], exercise: str, given: Set[str]) -> list[str]:
    """Return the cells before an exercise's test that define what its own cell uses, in order.

    `given` are names that are provided in any case; a cell of the student's that defines one of
    them again, or a built-in function, is not needed for it.
    """
    tests = (n for n, part in enumerate(parts) if part.role is Role.TEST and part.exercise == exercise)
    before = [part for part in parts[: next(tests, len(parts))] if part.runs]
    providers: dict[str, list[int]] = {}  # the cells that define each name
    wanted: list[str] = []
    for index, part in enumerate(before):
        names = names_in(part.source)
        if part.exercise == exercise:
            wanted += names.used
            continue
        kept_out = frozenset[str]() if part.role is Role.LOCKED else BUILTINS | given
        for name in names.defined - kept_out:
            providers.setdefault(name, []).append(index)
    needed: set[int] = set()
    while wanted:
        for index in providers.pop(wanted.pop(), ()):
            if index not in needed:
                needed.add(index)
                wanted += names_in(before[index].source).used
    return [before[index].source for index in sorted(needed)]


class Matching:
    """The places of submitted cells in the released lesson.

    Unchanged cells are recognised by their text, others by grade id or cell id. An answer that is still
    missing is recognised by the name it defines, in whichever cell it stands, and a written answer by
    the cells next to it, or else by the words that it shares with the question.

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
                self.repairs.append(f"{grade_id(cell)}: the answer was recognised by what it defines")

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
                self.repairs.append(
                    f"{grade_id(cell)}: the answer was recognised by its place in the notebook"
                )

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
            name = grade_id(self._release[place])
            self.repairs.append(
                f"{name}: the answer was recognised by the words that it shares with the question"
            )

    def _is_prose(self, place: int) -> bool:
        return bool(self._release[place].cell_type == "markdown")


def _words(text: str) -> frozenset[str]:
    return frozenset(word.lower() for word in WORD.findall(text[:MOST_WORDS]))


_Cell = tuple[NotebookNode, Part]


class _Alignment:
    """Builds the aligned notebook cell by cell."""

    def __init__(self, release: NotebookNode, submitted: RawNotebook, names: Mapping[str, str]) -> None:
        self.release, self.submitted, self.names = release, submitted, names
        self.matching = Matching(release.cells, submitted.cells, names)
        self.changed: list[str] = []
        self.repairs = [*submitted.repairs, *self.matching.repairs]
        self.own_cells: dict[int, list[int]] = {}
        for index, anchor in self.matching.anchors():
            self.own_cells.setdefault(anchor, []).append(index)
        answers = {n for n, cell in enumerate(release.cells) if is_solution(cell)}
        order = [place for place in self.matching.places if place in answers]
        if order != sorted(order):
            self.repairs.append("the answers were out of order; they were run in the lesson's order")
        # the words that answers and own cells use without defining them, which demos may define
        own = {index for indices in self.own_cells.values() for index in indices}
        places = enumerate(self.matching.places)
        students = own | {index for index, place in places if place in answers}
        texts = [*(self.matching.texts[n] for n in students), *self.matching.taken.values()]
        self._needed = undefined_words(texts) - set(names.values())

    def result(self) -> Aligned:
        """Return the notebook in the release's order, with the student's own cells in between."""
        laid = list(self._cells())
        about = {name: value for name, value in self.release.items() if name != "cells"}
        notebook = NotebookNode(copy.deepcopy(about), cells=[cell for cell, _ in laid])
        return Aligned(notebook, [part for _, part in laid], self.repairs, self.changed)

    def _cells(self) -> Iterator[_Cell]:
        yield from self._own_after(-1)
        for place, cell in enumerate(self.release.cells):
            yield from self._aligned(place, copy.deepcopy(cell))
            yield from self._own_after(place)

    def _own_after(self, place: int) -> Iterator[_Cell]:
        for index in self.own_cells.get(place, []):
            cell, left = self.submitted.cells[index], self.matching.texts[index]
            if left == cell.source or not is_blank(left):
                yield _own(cell, extract(left, self._needed) if cell.demo else left)

    def _aligned(self, place: int, cell: NotebookNode) -> Iterator[_Cell]:
        name, submitted = grade_id(cell), self.matching.at(place)
        texts = [self.matching.texts[index] for index in submitted]
        if is_solution(cell) and name is not None:
            yield self._answer(place, name, cell, submitted)
        elif is_graded(cell) and name is not None:
            yield cell, Part(Role.TEST, cell.source, exercise_of(name))
        elif cell.cell_type == "code" and metadata(cell).get("locked") and not is_graded(cell):
            yield cell, Part(Role.LOCKED, cell.source)
            name = name or cell.id
            for index, text in zip(submitted, texts, strict=True):  # a student's version of it runs, too
                if stripped(text) != stripped(cell.source) and not is_blank(text):
                    self.repairs.append(f"locked cell '{name}' was changed; the original was run first")
                    self.changed.append(name)
                    yield _own(self.submitted.cells[index], text)
        else:  # of a demo run only the imports and functions that answers need
            found = (extract(text, self._needed) for text in texts if cell.cell_type == "code")
            needed = "\n".join(filter(None, found))
            yield cell, Part(Role.OWN, needed) if needed else Part(Role.OTHER, cell.source)

    def _answer(self, place: int, name: str, cell: NotebookNode, submitted: Sequence[int]) -> _Cell:
        role = Role.WRITTEN if is_graded(cell) else Role.SOLUTION
        texts = [self.matching.texts[n] for n in submitted]
        if place in self.matching.taken:
            texts.insert(0, self.matching.taken[place])
        if not texts:
            return cell, Part(role, "", name, missing=True)
        if any(self.submitted.cells[n].cell_type != cell.cell_type for n in submitted):
            self.repairs.append(f"{name}: the cell's type was changed; it was read as {cell.cell_type}")
        skeleton, code = cell.source, role is Role.SOLUTION
        cell.source = self._joined(name, texts, skeleton, code=code)
        unchanged = not cell.source.strip() or same_code(cell.source, skeleton)
        unanswered = unchanged or (code and is_blank(cell.source))
        return cell, Part(role, cell.source, name, unanswered=unanswered)

    def _joined(self, name: str, texts: list[str], skeleton: str, *, code: bool) -> str:
        """Return one answer: the last of several copies, or all pieces of a cell that was split."""
        if code:
            edited = [t for t in texts if not same_code(t, skeleton) and not is_blank(t)]
        else:
            edited = [t for t in texts if stripped(t) != stripped(skeleton)]
        texts = [*dict.fromkeys(reversed(edited))][::-1] or texts[:1]  # of equal ones, the last
        if len(texts) == 1:
            return texts[0]
        whole = [t for t in texts if defines(t, self.names.get(name, "")) and parses(t)]
        if len(whole) > 1:
            self.repairs.append(
                f"{name}: the notebook has {len(texts)} copies of the cell; the last one counts"
            )
            return whole[-1]
        together = "\n".join(texts)
        if parses(together) or not whole:
            self.repairs.append(f"{name}: the answer was in {len(texts)} cells, which were joined")
            return together
        return whole[0]


def _own(cell: RawCell, source: str) -> _Cell:
    """Return a student's own cell, of which `source` runs."""
    if cell.cell_type == "code":
        return nbformat.v4.new_code_cell(cell.source), Part(Role.OWN, source)
    return nbformat.v4.new_markdown_cell(cell.source), Part(Role.OTHER, source)
