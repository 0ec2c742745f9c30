"""Lays a submission over the released lesson: locked cells from the master, answers from the student.

Duplicated, split, merged, moved, retyped or metadata-less cells cost nobody a mark (see `Matching`).
Every repair is reported.
"""

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

import nbformat

from autograder.answer_text import blank, carried, defines, parses, plain, same_code, wanted_by
from autograder.course import Course
from autograder.errors import SubmissionError
from autograder.lessons import load_lesson
from autograder.matching import Matching, grade_id, written_in
from autograder.notebook_file import Cell, Submission, read_submission

__all__ = ["Aligned", "Part", "Role", "align", "empty", "grade_id"]


class Role(StrEnum):
    """What a cell of an aligned notebook is for."""

    LOCKED = "locked"
    SOLUTION = "solution"
    TEST = "test"
    WRITTEN = "written"
    OWN = "own"
    OTHER = "other"


@dataclass(frozen=True)
class Part:
    """One cell of an aligned notebook: its role, the exercise it belongs to, its text."""

    role: Role
    source: str
    exercise: str | None = None
    missing: bool = False
    unanswered: bool = False

    @property
    def runs(self) -> bool:
        """Whether the cell is executed when marking."""
        return not self.missing and self.role in (Role.LOCKED, Role.SOLUTION, Role.OWN)


@dataclass
class Aligned:
    """A submission in the shape of the released lesson; `changed` names locked cells that were not."""

    notebook: Any
    parts: list[Part]
    repairs: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)


def align(course: Course, lesson: str, path: Path) -> Aligned:
    """Lay the notebook at `path` over the released lesson.

    Raises SubmissionError if it is no notebook, or another lesson's, and CourseError if the lesson
    was never released.
    """
    master = nbformat.read(course.release_notebook(lesson), as_version=4)
    laid = _Overlay(lesson, master, read_submission(path))
    if not laid.matching.found:
        raise SubmissionError(
            f"{path.name} is a notebook, but not of lesson '{lesson}': none of its exercises is in it"
        )
    return laid.result()


def empty(course: Course, lesson: str, reason: str) -> Aligned:
    """Return the released lesson with every exercise missing, for a file that cannot be read."""
    master = nbformat.read(course.release_notebook(lesson), as_version=4)
    aligned = _Overlay(lesson, master, Submission([])).result()
    return Aligned(aligned.notebook, aligned.parts, [reason])


class _Overlay:
    """The work of laying one notebook over another."""

    def __init__(self, lesson: str, master: Any, submitted: Submission) -> None:
        self.master, self.submitted = master, submitted
        self.names = {ex.id: ex.name for ex in load_lesson(lesson).exercises}
        self.matching = Matching(master.cells, submitted.cells, self.names)
        self.changed: list[str] = []
        self.repairs = [*submitted.repairs, *self.matching.repairs, *self._about_order()]
        self.owned: dict[int, list[int]] = {}
        for index, anchor in self.matching.anchors():
            self.owned.setdefault(anchor, []).append(index)
        self._needed = self._words_of_students()

    def _about_order(self) -> Iterator[str]:
        """Yield that answers stand in another order, where they do."""
        answers = {n for n, cell in enumerate(self.master.cells) if _is_solution(cell)}
        order = [place for place in self.matching.places if place in answers]
        if order != sorted(order):
            yield "the answers were in another order; they were run in the lesson's"

    def _words_of_students(self) -> set[str]:
        """Return what answers and own cells may need of a demo: words that they do not define."""
        own = {index for indices in self.owned.values() for index in indices}
        answers = {n for n, cell in enumerate(self.master.cells) if _is_solution(cell)}
        theirs = own | {n for n, place in enumerate(self.matching.places) if place in answers}
        return wanted_by([*(self.matching.texts[n] for n in theirs), *self.matching.taken.values()])

    def result(self) -> Aligned:
        """Return the notebook in the master's order, the student's own cells where they stood."""
        cells, parts = [], []
        for cell, part in self._laid():
            cells.append(cell)
            parts.append(part)
        notebook = copy.deepcopy(self.master)
        notebook.cells = cells
        return Aligned(notebook, parts, self.repairs, self.changed)

    def _laid(self) -> Iterator[tuple[Any, Part]]:
        yield from self._own_after(-1)
        for place, cell in enumerate(self.master.cells):
            yield from self._cell(place, copy.deepcopy(cell))
            yield from self._own_after(place)

    def _own_after(self, place: int) -> Iterator[tuple[Any, Part]]:
        for index in self.owned.get(place, []):
            cell = self.submitted.cells[index]
            left = self.matching.texts[index]
            if left == cell.source or not blank(left):
                yield self._own(cell, self._of_demo(left) if cell.demo else left)

    def _own(self, cell: Cell, source: str) -> tuple[Any, Part]:
        code = cell.cell_type == "code"
        make = nbformat.v4.new_code_cell if code else nbformat.v4.new_markdown_cell
        return make(cell.source), Part(Role.OWN if code else Role.OTHER, source)

    def _cell(self, place: int, cell: Any) -> Iterator[tuple[Any, Part]]:
        name, theirs = grade_id(cell), self.matching.at(place)
        if _is_solution(cell) and name is not None:
            yield self._answer(place, name, cell, theirs)
        elif _is_run(cell):
            yield cell, Part(Role.LOCKED, cell.source)
            yield from self._changed(name or cell.id, cell, theirs)
        elif _about(cell).get("grade") and name is not None:
            yield cell, Part(Role.TEST, cell.source, name.removesuffix("-test"))
        else:
            yield cell, self._demo(cell, theirs)

    def _demo(self, cell: Any, theirs: Sequence[int]) -> Part:
        """Run of a demo only what answers need: an import, or a function that it defines."""
        demo = cell.cell_type == "code"
        needed = [self._of_demo(self.matching.texts[n]) for n in theirs if demo]
        source = "\n".join(filter(None, needed))
        return Part(Role.OWN, source) if source else Part(Role.OTHER, cell.source)

    def _of_demo(self, text: str) -> str:
        return carried(text, self._needed - set(self.names.values()))

    def _changed(self, name: str, cell: Any, theirs: Sequence[int]) -> Iterator[tuple[Any, Part]]:
        """Keep what a student changed in a locked cell as a cell of their own, after the original."""
        for index in theirs:
            text = self.matching.texts[index]
            if plain(text) != plain(cell.source) and not blank(text):
                self.repairs.append(f"locked cell '{name}' was changed; the original was run first")
                self.changed.append(name)
                yield self._own(self.submitted.cells[index], text)

    def _answer(self, place: int, name: str, cell: Any, theirs: Sequence[int]) -> tuple[Any, Part]:
        role = Role.WRITTEN if _about(cell).get("grade") else Role.SOLUTION
        taken = self.matching.taken.get(place)
        if not theirs and taken is None:
            self.repairs.append(f"{name}: the cell is not in the notebook")
            return cell, Part(role, "", name, missing=True)
        if any(self.submitted.cells[n].cell_type != cell.cell_type for n in theirs):
            self.repairs.append(
                f"{name}: the cell's type was changed; it was read as {cell.cell_type}"
            )
        texts = [self.matching.texts[n] for n in theirs]
        skeleton, code = cell.source, role is Role.SOLUTION
        cell.source = self._joined(name, [*([taken] if taken else []), *texts], skeleton, code=code)
        undone = same_code(cell.source, skeleton) if cell.source.strip() else True
        nothing = undone or (code and blank(cell.source))
        return cell, Part(role, cell.source, name, unanswered=nothing)

    def _joined(self, name: str, texts: Sequence[str], skeleton: str, *, code: bool) -> str:
        """Return one answer where a cell was copied (the last that defines it) or split (all)."""
        said = [
            t for t in texts if (written_in(t, skeleton) if code else plain(t) != plain(skeleton))
        ]
        texts = list(dict.fromkeys(said)) or texts[:1]
        whole = [t for t in texts if defines(t, self.names.get(name, "")) and parses(t)]
        if len(texts) == 1:
            return texts[0]
        if len(whole) > 1:
            self.repairs.append(
                f"{name}: the cell is there {len(texts)} times; the last one counts"
            )
            return whole[-1]
        together = "\n".join(texts)
        if parses(together) or not whole:
            self.repairs.append(f"{name}: the answer was in {len(texts)} cells, which were joined")
            return together
        return whole[0]


def _about(cell: Any) -> Any:
    return cell.metadata.get("nbgrader", {})


def _is_solution(cell: Any) -> bool:
    return bool(_about(cell).get("solution"))


def _is_run(cell: Any) -> bool:
    """Return whether a master cell is run when marking: locked code that is not a test."""
    about = _about(cell)
    return cell.cell_type == "code" and bool(about.get("locked")) and not about.get("grade")
