"""A lesson as its author writes it, with its answers run as a student runs them."""

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from autograder.model.lesson_text import (
    CellKind,
    LessonCell,
    LessonText,
    Region,
    inside,
    read_lesson,
    without,
)

ROOT = Path(__file__).resolve().parents[2]
# How a visible test refuses an answer: with its message, or by an operation that cannot be carried out.
BITES = (AssertionError, RuntimeError, ValueError)
Edits = Mapping[str, tuple[str, str]]


class StaleEditError(LookupError):
    """An edit that does not find what it changes. It is no AssertionError, so it never passes for a bite."""


def shown(cell: LessonCell) -> str:
    """Return what a student is given of a cell: no answers, no mark schemes."""
    return without(cell.text, *Region)


class LessonRun:
    """A file `source/NN_name.py`, read once, and its cells run."""

    def __init__(self, name: str, extras: Mapping[str, Any] | None = None) -> None:
        """`extras` are names that a demo of the lesson makes, and its tests use."""
        self.name, self.path, self.extras = name, ROOT / f"source/{name}.py", dict(extras or {})

    @cached_property
    def text(self) -> LessonText:
        """The lesson's text."""
        return read_lesson(self.path)

    @property
    def cells(self) -> tuple[LessonCell, ...]:
        """All cells, in order."""
        return self.text.cells

    @property
    def coded(self) -> list[str]:
        """The exercises that are answered in code, in order."""
        return [header.id for header in self.text.exercises if not header.written]

    def cell(self, kind: CellKind, exercise: str) -> LessonCell:
        """Return the one cell of a kind that belongs to an exercise."""
        (found,) = [c for c in self.cells if c.kind is kind and c.exercise == exercise]
        return found

    def run(self, edits: Edits | None = None, until: str = "") -> dict[str, Any]:
        """Run the lesson with the answers edited, and return what it defines.

        With `until`, the test of that exercise alone is run, and nothing after it; else all are.
        Raises StaleEditError for an edit that finds nothing to change.
        """
        scope = self.scope_before(until or self.coded[0], edits)
        for name in [until] if until else self.coded:
            self._execute(self.edited(name, edits or {}), scope)
            self._execute(self.text.test(name), scope)
        return scope

    def scope_before(self, name: str, edits: Edits | None = None) -> dict[str, Any]:
        """Return what is in scope when a student comes to an exercise, having solved those before."""
        scope: dict[str, Any] = {"__name__": "lesson", **self.extras}
        for cell in self.cells:
            if cell.kind in (CellKind.SETUP, CellKind.GIVEN):
                self._execute(cell.text, scope)
        for earlier in self.coded[: self.coded.index(name)]:
            self._execute(self.edited(earlier, edits or {}), scope)
        return scope

    def run_skeleton(self, name: str) -> None:
        """Run an exercise's visible test on the cell as students get it, after correct ones before it."""
        scope = self.scope_before(name)
        self._execute(self.text.skeleton(name), scope)
        self._execute(self.text.test(name), scope)

    def edited(self, name: str, edits: Edits) -> str:
        """Return a model answer, edited if there is an edit for it."""
        answer = self.text.answer(name)
        old, new = edits.get(name, ("", ""))
        if old not in answer:
            raise StaleEditError(f"the answer to {name} no longer contains {old!r}")
        return answer.replace(old, new) if old else answer

    def answer_lines(self) -> set[str]:
        """Return the lines of all model answers and written answers."""
        regions = (inside(cell.text, Region.SOLUTION) for cell in self.cells if cell.kind.is_answered)
        return {line for text in regions for line in text.split("\n")}

    def _execute(self, source: str, scope: dict[str, Any]) -> None:
        exec(compile(source, self.name, "exec"), scope)
