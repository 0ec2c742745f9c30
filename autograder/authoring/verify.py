"""The rules that a lesson's text keeps, so that what is built from it can be graded."""

import re
from collections.abc import Callable
from itertools import pairwise

from autograder.authoring.code import check_code
from autograder.authoring.exercise_format import check_headings, check_hints
from autograder.model.errors import LessonTextError
from autograder.model.lesson_text import (
    CellKind,
    LessonCell,
    LessonText,
    Region,
    has,
    marker_lines,
    marker_problem,
)

EXERCISE_ID = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
REGIONS = {CellKind.SOLUTION: (Region.SOLUTION,), CellKind.WRITTEN: (Region.SOLUTION, Region.SCHEME)}


def verify(lesson: LessonText) -> None:
    """Raise LessonTextError for the first rule that a lesson's text breaks."""
    for rule in RULES:
        rule(lesson)


def check_ids(lesson: LessonText) -> None:
    """Raise LessonTextError for an id that is taken or malformed."""
    seen: dict[str, int] = {}
    for cell in lesson.cells:
        if cell.exercise and not EXERCISE_ID.fullmatch(cell.exercise):
            raise _error(lesson, cell, "an id is lower-case words with hyphens: scaled-softmax")
        if cell.id in seen:
            raise _error(lesson, cell, f"duplicate id: line {seen[cell.id]} has it already")
        seen[cell.id] = cell.line


def check_markers(lesson: LessonText) -> None:
    """Raise LessonTextError for a marker without its partner, or in the wrong kind of cell."""
    for cell in lesson.cells:
        fault = marker_problem(cell.text) or _misplaced(cell)
        if fault:
            raise _error(lesson, cell, fault[1], offset=1 + fault[0])
        if cell.kind.is_answered and not has(cell.text, Region.SOLUTION):
            problem = "no model answer: put it between BEGIN SOLUTION and END SOLUTION"
            raise _error(lesson, cell, problem)


def check_order(lesson: LessonText) -> None:
    """Raise LessonTextError unless solutions and tests come in pairs, each test right after its solution."""
    for before, cell in pairwise((None, *lesson.cells, None)):
        solution = before is not None and before.kind is CellKind.SOLUTION
        test = cell is not None and cell.kind is CellKind.TEST
        paired = before and cell and before.exercise == cell.exercise
        if solution and before and not (test and paired):
            problem = f"no test after it: expected '# %% test {before.exercise} POINTS' next"
            raise _error(lesson, before, problem)
        if test and cell and not (solution and paired):
            problem = f"a test directly follows its solution: '# %% solution {cell.exercise}'"
            raise _error(lesson, cell, problem)


def check_points(lesson: LessonText) -> None:
    """Raise LessonTextError unless the points add up to the sum that the header declares."""
    for cell in lesson.cells:
        if cell.kind in (CellKind.TEST, CellKind.WRITTEN) and not cell.points >= 0:
            raise _error(lesson, cell, f"points should not be negative, got {cell.points:g}")
    if not lesson.points > 0:
        problem = "declare the sum of the points in the header: '#   coursework: {points: 20}'"
        raise LessonTextError(problem, lesson.path, line=1)
    total = sum(exercise.points for exercise in lesson.exercises)
    if total != lesson.points:
        problem = f"the exercises' points add up to {total:g}; the header declares {lesson.points:g}"
        raise LessonTextError(problem, lesson.path, line=1)


RULES: tuple[Callable[[LessonText], None], ...] = (
    check_ids,
    check_markers,
    check_order,
    check_points,
    check_headings,
    check_hints,
    check_code,
)


def _misplaced(cell: LessonCell) -> tuple[int, str] | None:
    allowed = [str(region) for region in REGIONS.get(cell.kind, ())]
    for offset, line in marker_lines(cell.text):
        if not any(region in line for region in allowed):
            return offset, f"'{line.strip()}' does not belong in a '{cell.kind}' cell"
    return None


def _error(lesson: LessonText, cell: LessonCell, problem: str, *, offset: int = 0) -> LessonTextError:
    return LessonTextError(problem, lesson.path, cell=cell.id, line=cell.line + offset)
