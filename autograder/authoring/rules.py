"""The rules that a lesson's text keeps, so that what is built from it can be graded."""

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import count, pairwise
from pathlib import Path
from typing import NamedTuple

from IPython.core.inputtransformer2 import TransformerManager

from autograder.authoring.minutes import check_minutes
from autograder.model.errors import LessonTextError
from autograder.model.lesson_text import (
    EXERCISE,
    HINT,
    IMAGE,
    CellKind,
    LessonCell,
    LessonText,
    Region,
    marker_lines,
    marker_problem,
    skeleton,
)
from autograder.model.text import counted

EXERCISE_ID = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
REGIONS = {CellKind.SOLUTION: (Region.SOLUTION,), CellKind.WRITTEN: (Region.SOLUTION, Region.SCHEME)}

ASSESSED = re.compile(
    r"\*\*What is assessed\*\* \((?P<sum>[\d.]+) points?\b.*\)\n+"
    r"(?P<head>\|.+)\n\|[-| :]+\n(?P<rows>(?:\|.+\n?)+)"
)
CHECK = re.compile(r"check\(\"[a-z0-9-]+\"\)")
FEWEST_HINTS = 2

# In a string: a name for importlib, or code that a magic such as %time runs.
OURS = re.compile(r"^autograder(\.\w+)*$|\b(import|from)\s+autograder\b")

IMAGES = "images"
HTML_IMAGE = re.compile(r"<img\b[^>]*>", re.IGNORECASE)
ATTRIBUTE = r"""\b{}\s*=\s*["']([^"']*)["']"""


def check_rules(lesson: LessonText) -> None:
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


def check_ids_of_course(lesson: LessonText, others: Iterable[LessonText]) -> None:
    """Raise LessonTextError for an exercise whose id another lesson has.

    `check("softmax")` names no lesson, and neither do reports, which look up what an exercise is by its id.
    """
    taken = {each.id: other.path.name for other in others for each in other.exercises}
    for cell in lesson.cells:
        if cell.exercise in taken:
            raise _error(lesson, cell, f"duplicate id: {taken[cell.exercise]} has it already")


def check_markers(lesson: LessonText) -> None:
    """Raise LessonTextError for a marker without its partner, or in the wrong kind of cell."""
    for cell in lesson.cells:
        allowed = [str(region) for region in REGIONS.get(cell.kind, ())]
        misplaced = (
            (offset, f"'{line.strip()}' does not belong in a '{cell.kind}' cell")
            for offset, line in marker_lines(cell.text)
            if not any(region in line for region in allowed)
        )
        if fault := marker_problem(cell.text) or next(misplaced, None):
            raise _error(lesson, cell, fault[1], offset=1 + fault[0])
        if cell.kind.is_answered and f"BEGIN {Region.SOLUTION}" not in cell.text:
            problem = "no model answer: put it between BEGIN SOLUTION and END SOLUTION"
            raise _error(lesson, cell, problem)


def check_order(lesson: LessonText) -> None:
    """Raise LessonTextError unless solutions and tests come in pairs, each test right after its solution."""
    for before, cell in pairwise((None, *lesson.cells, None)):
        solution = before if before and before.kind is CellKind.SOLUTION else None
        test = cell if cell and cell.kind is CellKind.TEST else None
        if solution and not (test and test.exercise == solution.exercise):
            problem = f"no test after it: expected '# %% test {solution.exercise} POINTS' next"
            raise _error(lesson, solution, problem)
        if test and not solution:
            problem = f"a test directly follows its solution: '# %% solution {test.exercise}'"
            raise _error(lesson, test, problem)


def check_points(lesson: LessonText) -> None:
    """Raise LessonTextError unless the points add up to the sum that the header declares."""
    for cell in lesson.cells:
        if cell.kind in (CellKind.TEST, CellKind.WRITTEN) and not cell.points >= 0:
            raise _error(lesson, cell, f"points should not be negative, got {cell.points:g}")
    total = sum(exercise.points for exercise in lesson.exercises)
    if not lesson.points > 0:
        problem = "declare the sum of the points in the header: '#   coursework: {points: 20}'"
        raise LessonTextError(problem, lesson.path, line=1)
    if total != lesson.points:
        problem = f"the exercises' points add up to {total:g}; the header declares {lesson.points:g}"
        raise LessonTextError(problem, lesson.path, line=1)


def check_headings(lesson: LessonText) -> None:
    """Raise LessonTextError unless every exercise has a heading with its number and points.

    The form is `### Exercise 3: the title (2 points)`, numbered from 1 in the order of the text. An
    exercise of 0 points has the heading `### Stretch: the title`.
    """
    numbers = count(1)
    for cell, heading, line in _exercises_with_headings(lesson):
        points = next(e.points for e in lesson.exercises if e.id == cell.exercise)
        wanted = f"Exercise {next(numbers)}: … ({_points(points)})" if points else "Stretch: …"
        if heading is None:
            raise _error(lesson, cell, f"no heading: expected '### {wanted}' before it")
        number, told = heading["number"], _points(heading["points"])
        named = f"Exercise {number}: … ({told})" if number else "Stretch: …"
        if named != wanted:
            problem = f"the heading should read '{wanted}', got '{heading[0]}'"
            raise LessonTextError(problem, lesson.path, cell=cell.id, line=line)


def check_assessed(lesson: LessonText) -> None:
    """Raise LessonTextError unless the table "What is assessed", if there is one, has each exercise's points.

    It has a row for each counted exercise, in the order of the text; where an exercise doesn't count, a word
    stands in place of the points.
    """
    for cell in lesson.cells:
        if cell.kind is not CellKind.PROSE or not (table := ASSESSED.search(cell.text)):
            continue
        lines = [table["head"], *table["rows"].splitlines()]
        head, *rows = ([part.strip() for part in line.split("|")] for line in lines)
        told = [row[head.index("points")] for row in rows] if "points" in head else []
        wanted = [f"{each.points:g}" for each in lesson.exercises if each.points]
        numbers = [each for each in told if each[:1].isdigit()]
        if [f"{lesson.points:g}", *wanted] != [table["sum"], *numbers]:
            problem = (
                f'"What is assessed" should say {lesson.points:g} points, for {", ".join(wanted)}; '
                f"it says {table['sum']}, for {', '.join(numbers) or 'none'}"
            )
            raise _error(lesson, cell, problem)


def _exercises_with_headings(lesson: LessonText) -> Iterator[tuple[LessonCell, re.Match[str] | None, int]]:
    """Yield each answer cell with the last heading of an exercise before it, and that line's number."""
    found, at = None, 0
    for cell in lesson.cells:
        if cell.kind in (CellKind.PROSE, CellKind.WRITTEN):
            for line, text in enumerate(cell.text.split("\n"), start=cell.line + 1):
                if heading := EXERCISE.match(text):
                    found, at = heading, line
        if cell.kind.is_answered:
            yield cell, found, at
            found = None


def _points(number: str | float | None) -> str:
    return counted(float(number), "point") if number else "no points"


def belongs_to_exercise(cell: LessonCell) -> bool:
    """Return whether a cell goes with the test before it: the check on public examples, or the hints."""
    hints = cell.kind is CellKind.PROSE and HINT.search(cell.text)
    return bool(hints or CHECK.fullmatch(cell.text.strip()))


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
            raise _error(lesson, cell, problem)
        if after is not None and text.count("</details>") < len(numbers):
            problem = "a hint is not closed: each ends with '</details>'"
            raise LessonTextError(problem, lesson.path, cell=cell.id, line=after.line)


def check_code(lesson: LessonText) -> None:
    """Raise LessonTextError for code that does not parse, answered or not, or imports the autograder."""
    for cell in lesson.cells:
        if cell.kind.is_markdown:
            continue
        tree = _parse(lesson, cell, cell.text)
        if cell.kind.is_answered:
            _parse(lesson, cell, skeleton(cell.text, markdown=False))
        for node in ast.walk(tree):
            match node:
                case ast.Import(names):
                    found = [name.name for name in names]
                case ast.ImportFrom(module):
                    found = [module or ""]
                case ast.Constant(str(text)):
                    found = [text]
                case _:
                    continue
            if any(map(OURS.search, found)):
                raise _error(lesson, cell, "a lesson never imports autograder: students do not have it")


def _parse(lesson: LessonText, cell: LessonCell, text: str) -> ast.Module:
    """Return a cell's syntax tree, read as IPython does; LessonTextError if it has none."""
    try:
        python = TransformerManager().transform_cell(text)
        flags = ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        tree = compile(python, lesson.path.name, "exec", flags)
    except (SyntaxError, ValueError) as error:
        problem = f"the code does not parse: {getattr(error, 'msg', error)}"
        raise _error(lesson, cell, problem, offset=getattr(error, "lineno", None) or 0) from error
    assert isinstance(tree, ast.Module)
    return tree


RULES: tuple[Callable[[LessonText], None], ...] = (
    check_ids,
    check_markers,
    check_order,
    check_points,
    check_headings,
    check_assessed,
    check_hints,
    check_code,
    check_minutes,
)


class Image(NamedTuple):
    """A picture as a cell names it."""

    alt: str
    source: str


def images_in(text: str) -> Iterator[Image]:
    """Yield the pictures that a markdown text shows, written as markdown or as HTML."""
    for match in IMAGE.finditer(text):
        yield Image(match["alt"], match["path"])
    for tag in HTML_IMAGE.findall(text):
        alt, source = (re.search(ATTRIBUTE.format(name), tag, re.IGNORECASE) for name in ("alt", "src"))
        yield Image(alt[1] if alt else "", source[1] if source else "")


def images_of(lesson: LessonText) -> list[str]:
    """Return the file names of all pictures of a lesson, each once, sorted."""
    cells = (cell.text for cell in lesson.cells if cell.kind.is_markdown)
    return sorted({Path(image.source).name for text in cells for image in images_in(text)})


def check_images(lesson: LessonText, folder: Path) -> None:
    """Raise LessonTextError for a picture without alt text, elsewhere, or not in `folder`."""
    for cell in lesson.cells:
        for image in images_in(cell.text) if cell.kind.is_markdown else ():
            path = Path(image.source)
            if not image.alt.strip():
                problem = f"image '{image.source}' without alt text: say what a reader should see in it"
            elif path.parent != Path(IMAGES):
                problem = f"image '{image.source}' should be {IMAGES}/NAME: a lesson needs no network"
            elif not (folder / path.name).is_file():
                missing = f"image '{image.source}' does not exist"
                problem = f"{missing}: copy it from the project into {IMAGES}/, or draw it"
            else:
                continue
            lines = cell.text.split("\n")
            offset = next((n for n, line in enumerate(lines) if image.source in line), 0)
            raise _error(lesson, cell, problem, offset=1 + offset)


def _error(lesson: LessonText, cell: LessonCell, problem: str, *, offset: int = 0) -> LessonTextError:
    return LessonTextError(problem, lesson.path, cell=cell.id, line=cell.line + offset)
