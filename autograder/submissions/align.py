"""Aligns a submission with the released lesson: locked cells from the release, answers from the student.

An answer that is tried alone takes along the cells that it needs.

A student loses no points for cells that were duplicated, split, merged, moved, retyped or stripped
of their metadata (see `Matching`). Every repair is listed.
"""

import builtins
import copy
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from autograder.model.course import Course
from autograder.model.errors import WrongFileError
from autograder.submissions.answer_text import (
    defines,
    extract,
    is_blank,
    names_in,
    parses,
    same_code,
    stripped,
    undefined_words,
)
from autograder.submissions.matching import Matching
from autograder.submissions.nbgrader_cells import exercise_of, grade_id, is_graded, is_solution, metadata
from autograder.submissions.notebook_file import RawCell, RawNotebook, read_submission
from autograder.submissions.released import released_notebook

BUILTINS = frozenset(vars(builtins))


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
        """Yield what becomes of one cell of the release."""
        name, submitted = grade_id(cell), self.matching.at(place)
        if is_solution(cell) and name is not None:
            yield self._answer(place, name, cell, submitted)
        elif cell.cell_type == "code" and metadata(cell).get("locked") and not is_graded(cell):
            yield cell, Part(Role.LOCKED, cell.source)
            yield from self._changed(name or cell.id, cell, submitted)
        elif is_graded(cell) and name is not None:
            yield cell, Part(Role.TEST, cell.source, exercise_of(name))
        else:
            yield cell, self._demo(cell, submitted)

    def _demo(self, cell: NotebookNode, submitted: Sequence[int]) -> Part:
        """Return the part for a demo: it runs only the imports and functions that answers need."""
        texts = [self.matching.texts[n] for n in submitted if cell.cell_type == "code"]
        needed = "\n".join(filter(None, (extract(text, self._needed) for text in texts)))
        return Part(Role.OWN, needed) if needed else Part(Role.OTHER, cell.source)

    def _changed(self, name: str, cell: NotebookNode, submitted: Sequence[int]) -> Iterator[_Cell]:
        """Yield a student's version of a locked cell as a cell of their own, after the original."""
        for index in submitted:
            text = self.matching.texts[index]
            if stripped(text) != stripped(cell.source) and not is_blank(text):
                self.repairs.append(f"locked cell '{name}' was changed; the original was run first")
                self.changed.append(name)
                yield _own(self.submitted.cells[index], text)

    def _answer(self, place: int, name: str, cell: NotebookNode, submitted: Sequence[int]) -> _Cell:
        """Return the cell of an exercise with the student's answer in it."""
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
        texts = list(dict.fromkeys(edited)) or texts[:1]
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
