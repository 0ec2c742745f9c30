"""Lays a submission over the released lesson: locked cells from the master, answers from the student.

Cells are recognised by grade id, then by cell id, then by content, so that duplicated, split,
retyped or metadata-less cells cost nobody a mark. Every repair is reported.
"""

import ast
import copy
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

import nbformat

from autograder.course import Course
from autograder.errors import SubmissionError
from autograder.lessons import load_lesson
from autograder.notebook_file import read_submission

NBGRADER = "nbgrader"


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
    """A submission in the shape of the released lesson."""

    notebook: Any
    parts: list[Part]
    repairs: list[str] = field(default_factory=list)


def align(course: Course, lesson: str, path: Path) -> Aligned:
    """Lay the notebook at `path` over the released lesson.

    Raises SubmissionError if it is no notebook, or another lesson's, and CourseError if the lesson
    was never released.
    """
    master = nbformat.read(course.release_notebook(lesson), as_version=4)
    submitted = read_submission(path)
    laid = _Overlay(lesson, master, submitted)
    if not laid.found:
        raise SubmissionError(
            f"{path.name} is a notebook, but not of lesson '{lesson}': none of its exercises is in it"
        )
    return laid.result()


def empty(course: Course, lesson: str, reason: str) -> Aligned:
    """Return the released lesson with every exercise missing, for a file that cannot be read."""
    master = nbformat.read(course.release_notebook(lesson), as_version=4)
    nothing = nbformat.v4.new_notebook()
    aligned = _Overlay(lesson, master, nothing).result()
    return Aligned(aligned.notebook, aligned.parts, [reason])


def grade_id(cell: Any) -> str | None:
    """Return a cell's nbgrader id, or None."""
    about = cell.metadata.get(NBGRADER)
    found = about.get("grade_id") if isinstance(about, dict) else None
    return found if isinstance(found, str) else None


class _Overlay:
    """The work of laying one notebook over another."""

    def __init__(self, lesson: str, master: Any, submitted: Any) -> None:
        self.master, self.submitted = master, submitted
        self.names = {ex.id: ex.name for ex in load_lesson(lesson).exercises}
        self.repairs: list[str] = []
        self.matched: dict[int, list[int]] = {}
        self.owned: dict[int, list[int]] = {}
        self._match_all()

    @property
    def found(self) -> bool:
        """Whether anything but prose of the lesson is there."""
        return any(grade_id(self.master.cells[place]) for place in self.matched)

    def _match_all(self) -> None:
        places = [self._by_id(cell) for cell in self.submitted.cells]
        for index, cell in enumerate(self.submitted.cells):
            if places[index] is None:
                places[index] = self._by_text(cell)
        self._by_definition(places)
        anchor = -1
        for index, place in enumerate(places):
            if place is None:
                self.owned.setdefault(anchor, []).append(index)
            else:
                self.matched.setdefault(place, []).append(index)
                anchor = place

    def _by_id(self, cell: Any) -> int | None:
        wanted, own_id = grade_id(cell), cell.get("id")
        for place, other in enumerate(self.master.cells):
            if wanted is not None and grade_id(other) == wanted:
                return place
        for place, other in enumerate(self.master.cells):
            if wanted is None and own_id is not None and other.get("id") == own_id:
                return place
        return None

    def _by_text(self, cell: Any) -> int | None:
        text = _plain(cell.source)
        for place, other in enumerate(self.master.cells):
            if text and _plain(other.source) == text:
                return place
        return None

    def _by_definition(self, places: list[int | None]) -> None:
        """Recognise an answer by the name it defines, where no cell carries its id."""
        for place, cell in enumerate(self.master.cells):
            exercise = grade_id(cell)
            if not _is_solution(cell) or exercise not in self.names or place in places:
                continue
            candidates = [
                index
                for index, other in enumerate(self.submitted.cells)
                if places[index] is None and defines(other.source, self.names[exercise])
            ]
            if candidates:
                places[candidates[-1]] = place
                self.repairs.append(f"{exercise}: the answer was recognised by what it defines")

    def result(self) -> Aligned:
        """Return the notebook in the master's order, the student's own cells where they stood."""
        cells, parts = [], []
        for cell, part in self._laid():
            cells.append(cell)
            parts.append(part)
        notebook = copy.deepcopy(self.master)
        notebook.cells = cells
        return Aligned(notebook, parts, self.repairs)

    def _laid(self) -> Iterator[tuple[Any, Part]]:
        yield from self._own_after(-1)
        for place, cell in enumerate(self.master.cells):
            yield from self._cell(place, copy.deepcopy(cell))
            yield from self._own_after(place)

    def _own_after(self, place: int) -> Iterator[tuple[Any, Part]]:
        for index in self.owned.get(place, []):
            yield self._own(self.submitted.cells[index])

    def _own(self, cell: Any) -> tuple[Any, Part]:
        code = cell.cell_type == "code"
        make = nbformat.v4.new_code_cell if code else nbformat.v4.new_markdown_cell
        return make(cell.source), Part(Role.OWN if code else Role.OTHER, cell.source)

    def _cell(self, place: int, cell: Any) -> Iterator[tuple[Any, Part]]:
        theirs = [self.submitted.cells[index] for index in self.matched.get(place, [])]
        name = grade_id(cell)
        if _is_solution(cell) and name is not None:
            yield self._answer(name, cell, theirs)
            return
        yield cell, self._fixed(name, cell)
        if _is_run(cell):
            yield from self._changed(name or cell.id, cell, theirs)

    def _fixed(self, name: str | None, cell: Any) -> Part:
        if _about(cell).get("grade") and name is not None:
            return Part(Role.TEST, cell.source, name.removesuffix("-test"))
        return Part(Role.LOCKED if _is_run(cell) else Role.OTHER, cell.source)

    def _changed(self, name: str, cell: Any, theirs: Sequence[Any]) -> Iterator[tuple[Any, Part]]:
        """Keep what a student changed in a locked cell as a cell of their own, after the original."""
        for other in theirs:
            if _plain(other.source) != _plain(cell.source):
                self.repairs.append(f"locked cell '{name}' was changed; the original was run first")
                yield self._own(other)

    def _answer(self, name: str, cell: Any, theirs: Sequence[Any]) -> tuple[Any, Part]:
        role = Role.WRITTEN if _about(cell).get("grade") else Role.SOLUTION
        if not theirs:
            self.repairs.append(f"{name}: the cell is not in the notebook")
            return cell, Part(role, "", name, missing=True)
        source = self._joined(name, [other.source for other in theirs])
        if any(other.cell_type != cell.cell_type for other in theirs):
            self.repairs.append(
                f"{name}: the cell's type was changed; it was read as {cell.cell_type}"
            )
        unanswered = same_code(source, cell.source)
        cell.source = source
        return cell, Part(role, source, name, unanswered=unanswered)

    def _joined(self, name: str, sources: Sequence[str]) -> str:
        """Return one answer where a cell was copied (the last that defines it) or split (all)."""
        whole = [
            text for text in sources if defines(text, self.names.get(name, "")) and parses(text)
        ]
        if len(sources) == 1 or len(whole) > 1:
            return (whole or list(sources))[-1]
        together = "\n".join(sources)
        return together if parses(together) or not whole else whole[0]


def _about(cell: Any) -> Any:
    return cell.metadata.get(NBGRADER, {})


def _is_solution(cell: Any) -> bool:
    return bool(_about(cell).get("solution"))


def _is_run(cell: Any) -> bool:
    """Return whether a master cell is run when marking: locked code that is not a test."""
    about = _about(cell)
    return cell.cell_type == "code" and bool(about.get("locked")) and not about.get("grade")


def _plain(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def parses(text: str) -> bool:
    """Return whether a cell's text is Python."""
    try:
        ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def defines(text: str, name: str) -> bool:
    """Return whether a cell defines or assigns a name at its top level."""
    return bool(
        re.search(rf"^(def|class)\s+{re.escape(name)}\b|^{re.escape(name)}\s*(:.*)?=", text, re.M)
    )


def same_code(one: str, other: str) -> bool:
    """Return whether two cells are the same but for comments and white space."""
    if _plain(one) == _plain(other):
        return True
    if not (parses(one) and parses(other)):
        return False
    return ast.dump(ast.parse(one)) == ast.dump(ast.parse(other))
