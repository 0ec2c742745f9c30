"""Checks that a release gives nothing away, just before it is written."""

from collections.abc import Callable, Iterator
from typing import Any

from autograder.model.errors import LessonTextError
from autograder.model.lesson_text import (
    CellKind,
    LessonCell,
    LessonText,
    Region,
    inside,
    marker_lines,
    without,
)

Found = tuple[str, str] | None  # the id of a cell, and what is wrong with it


def verify_release(lesson: LessonText, notebook: Any) -> None:
    """Raise LessonTextError where a released notebook shows what only the instructor should see."""
    for rule in RULES:
        for found in (rule(lesson, cell) for cell in notebook.cells):
            if found:
                line = next((cell.line for cell in lesson.cells if cell.id == found[0]), 0)
                raise LessonTextError(found[1], lesson.path, cell=found[0], line=line)


def markers_left(_: LessonText, released: Any) -> Found:
    """Find one of nbgrader's markers in a released cell."""
    for _offset, line in marker_lines(released.source):
        return released.id, f"the release still shows the marker '{line.strip()}'"
    return None


def hidden_test_left(lesson: LessonText, released: Any) -> Found:
    """Find the hidden line of a test in a released cell."""
    shown = f'grade("{lesson.name}/' in released.source
    return (released.id, "the release still shows its hidden test") if shown else None


def solution_left(lesson: LessonText, released: Any) -> Found:
    """Find a line of the model answer in the released cell of its own exercise."""
    for cell in _answered(lesson):
        if cell.id == released.id:
            left = sorted(_secret_lines(cell) & set(_lines(released.source)))
            if left:
                return cell.id, f"the release still shows the model answer's '{left[0]}'"
    return None


def answer_elsewhere(lesson: LessonText, released: Any) -> Found:
    """Find a model answer of several lines, word for word, in any released cell."""
    shown = "\n".join(_lines(released.source))
    for cell in _answered(lesson):
        answer = _lines(inside(cell.text, Region.SOLUTION))
        if len(answer) > 1 and "\n".join(answer) in shown:
            return released.id, f"the release shows the whole model answer of '{cell.exercise}'"
    return None


def output_left(_: LessonText, released: Any) -> Found:
    """Find an output in a released cell."""
    return (released.id, "the release shows an output") if released.get("outputs") else None


RULES: tuple[Callable[[LessonText, Any], Found], ...] = (
    markers_left,
    hidden_test_left,
    solution_left,
    answer_elsewhere,
    output_left,
)


def _answered(lesson: LessonText) -> Iterator[LessonCell]:
    return (cell for cell in lesson.cells if cell.kind in (CellKind.SOLUTION, CellKind.WRITTEN))


def _secret_lines(cell: LessonCell) -> set[str]:
    """Return the lines of a cell that only its regions have."""
    secret = _lines(inside(cell.text, Region.SOLUTION)) + _lines(inside(cell.text, Region.SCHEME))
    return set(secret) - set(_lines(without(cell.text, *Region)))


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.split("\n") if line.strip()]
