"""The format of an exercise in a lesson's text: a numbered heading before it, folded hints after it."""

import re
from collections.abc import Iterator
from itertools import count, pairwise

from autograder.model.errors import LessonTextError
from autograder.model.lesson_text import CellKind, LessonCell, LessonText

HEADING = re.compile(r"^#{2,3} Exercise (?P<number>\d+): .*?(?:\((?P<points>[\d.]+) points?\b.*\))?$")
STRETCH = re.compile(r"^#{2,3} Stretch: .+$")
HINT = re.compile(r"^<details><summary>Hint (\d+)", re.MULTILINE)
CHECK = re.compile(r"check\(\"[a-z0-9-]+\"\)")
FEWEST_HINTS = 2


def check_headings(lesson: LessonText) -> None:
    """Raise LessonTextError unless every exercise has a heading with its number and points.

    The form is `### Exercise 3: the title (2 points)`, numbered from 1 in the order of the text. An
    exercise of 0 points has the heading `### Stretch: the title`.
    """
    numbers = count(1)
    for cell, found in _exercises_with_headings(lesson):
        points = next(e.points for e in lesson.exercises if e.id == cell.exercise)
        wanted = f"Exercise {next(numbers)}: … ({_points(points)})" if points else "Stretch: …"
        if found is None:
            problem = f"no heading: expected '### {wanted}' before it"
            raise LessonTextError(problem, lesson.path, cell=cell.id, line=cell.line)
        text, line = found
        match = HEADING.match(text)
        named = f"Exercise {match['number']}: … ({_points(match['points'])})" if match else "Stretch: …"
        if named != wanted:
            problem = f"the heading should read '{wanted}', got '{text}'"
            raise LessonTextError(problem, lesson.path, cell=cell.id, line=line)


def check_hints(lesson: LessonText) -> None:
    """Raise LessonTextError unless every test is followed by folded hints, numbered from 1.

    The check on public examples may stand between the two.
    """
    cells = [cell for cell in lesson.cells if not CHECK.fullmatch(cell.text.strip())]
    for cell, after in pairwise((*cells, None)):
        if cell is None or cell.kind is not CellKind.TEST:
            continue
        text = after.text if after is not None and after.kind is CellKind.PROSE else ""
        numbers = [int(number) for number in HINT.findall(text)]
        if len(numbers) < FEWEST_HINTS or numbers != list(range(1, len(numbers) + 1)):
            problem = (
                f"expected at least {FEWEST_HINTS} folded hints, numbered from 1, right after the "
                f"test ('<details><summary>Hint 1: …'), got {numbers or 'none'}"
            )
            raise LessonTextError(problem, lesson.path, cell=cell.id, line=cell.line)
        if after is not None and text.count("</details>") < len(numbers):
            problem = "a hint is not closed: each ends with '</details>'"
            raise LessonTextError(problem, lesson.path, cell=cell.id, line=after.line)


def _exercises_with_headings(lesson: LessonText) -> Iterator[tuple[LessonCell, tuple[str, int] | None]]:
    """Yield each answer cell with the last heading of an exercise before it, and that line's number."""
    found: tuple[str, int] | None = None
    for cell in lesson.cells:
        if cell.kind in (CellKind.PROSE, CellKind.WRITTEN):
            found = _last_heading(cell) or found
        if cell.kind.is_answered:
            yield cell, found
            found = None


def _last_heading(cell: LessonCell) -> tuple[str, int] | None:
    lines = enumerate(cell.text.split("\n"), start=cell.line + 1)
    known = [(text, line) for line, text in lines if HEADING.match(text) or STRETCH.match(text)]
    return known[-1] if known else None


def _points(number: str | float | None) -> str:
    return f"{float(number):g} point{'' if float(number) == 1 else 's'}" if number else "no points"
