"""Reading a lesson as its author writes it: py:percent text, one tag to a cell."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autograder.model.errors import LessonTextError
from autograder.text.cells import SLIDES, Cell, Kind, TagProblem, read_tag
from autograder.text.regions import Region, inside, skeleton, tucked, without

HEADER = re.compile(r"^#\s*%%+(\s|$)")
# What jupytext itself puts beside the title and our own `slide`.
JUPYTEXT_KEYS = {"title", "slide", "lines_to_next_cell"}


@dataclass(frozen=True)
class ExerciseHeader:
    """What the text declares of an exercise: id, points, and whether it is graded by hand."""

    id: str
    points: float
    written: bool
    line: int


@dataclass(frozen=True)
class LessonText:
    """A lesson's cells, in order, and the sum of points that its header declares (0 for none)."""

    path: Path
    cells: tuple[Cell, ...]
    points: float = 0.0

    @property
    def name(self) -> str:
        """The lesson's name, `03_attention`: also its folder's and notebook's."""
        return self.path.stem

    @property
    def exercises(self) -> list[ExerciseHeader]:
        """The graded parts in order; a code exercise has the points of its test cell."""
        graded = (Kind.TEST, Kind.WRITTEN)
        return [
            ExerciseHeader(cell.exercise, cell.points, cell.kind is Kind.WRITTEN, cell.line)
            for cell in self.cells
            if cell.kind in graded
        ]

    def answer(self, exercise: str) -> str:
        """Return a solution cell with the model answer in place and no markers.

        A written one comes without its mark scheme. Raises LessonTextError for an unknown id.
        """
        return without(self._answered(exercise).text, Region.SCHEME)

    def skeleton(self, exercise: str) -> str:
        """Return a solution cell as students get it; LessonTextError for an unknown id."""
        cell = self._answered(exercise)
        written = cell.kind is Kind.WRITTEN
        return skeleton(tucked(cell.text) if written else cell.text, markdown=written)

    def mark_scheme(self, exercise: str) -> str:
        """Return a written exercise's mark scheme; LessonTextError for an unknown id."""
        return inside(self._answered(exercise).text, Region.SCHEME)

    def test(self, exercise: str) -> str:
        """Return the visible tests of an exercise; LessonTextError if it has none."""
        return self._find(exercise, (Kind.TEST,)).text

    def _answered(self, exercise: str) -> Cell:
        return self._find(exercise, (Kind.SOLUTION, Kind.WRITTEN))

    def _find(self, exercise: str, kinds: tuple[Kind, ...]) -> Cell:
        for cell in self.cells:
            if cell.exercise == exercise and cell.kind in kinds:
                return cell
        known = ", ".join(cell.exercise for cell in self.cells if cell.kind in kinds)
        wanted = " or ".join(kinds)
        raise LessonTextError(f"no {wanted} cell '{exercise}'; it has: {known}", self.path)


def read_lesson(path: Path) -> LessonText:
    """Read a lesson's text into cells.

    Raises LessonTextError if the file does not exist, or if a header is not one of the known ones.
    The rules that span cells are the business of `verify`.
    """
    if not path.is_file():
        raise LessonTextError("no such lesson text", path)
    import jupytext  # takes half a second to import

    text = path.read_text(encoding="utf-8")
    notebook = jupytext.reads(text, fmt="py:percent")
    parsed = notebook.cells
    lines = [n for n, line in enumerate(text.split("\n"), start=1) if HEADER.match(line)]
    if len(lines) != len(parsed):
        problem = f"expected a cell for each of the {len(lines)} '# %%' lines, got {len(parsed)}"
        raise LessonTextError(f"{problem}; text before the first one belongs to no cell", path)
    return LessonText(path, tuple(_cells(parsed, lines, path)), _declared_points(notebook.metadata))


def _declared_points(metadata: Mapping[str, Any]) -> float:
    """Return the sum of points in a text's header, `coursework: {points: 20}`; 0 if there is none."""
    declared = metadata.get("coursework")
    points = declared.get("points") if isinstance(declared, Mapping) else None
    return float(points) if isinstance(points, (int, float)) else 0.0


def _cells(parsed: list[Any], lines: list[int], path: Path) -> Iterator[Cell]:
    seen: Counter[Kind] = Counter()
    for raw, line in zip(parsed, lines, strict=True):
        title = raw.metadata.get("title", "")
        tag = read_tag(title, markdown=raw.cell_type == "markdown")
        if isinstance(tag, TagProblem):
            raise LessonTextError(tag.problem, path, cell=title, line=line)
        seen[tag.kind] += 1
        slide = _slide(raw, path, line)
        yield Cell(tag.kind, raw.source, line, seen[tag.kind], tag.exercise, tag.points, slide)


def _slide(raw: Any, path: Path, line: int) -> str:
    title = raw.metadata.get("title", "")
    unknown = sorted(set(raw.metadata) - JUPYTEXT_KEYS)
    if unknown:
        problem = f"unknown metadata {', '.join(unknown)}; a header takes slide=… only"
        raise LessonTextError(problem, path, cell=title, line=line)
    slide = str(raw.metadata.get("slide", ""))
    if slide not in ("", *SLIDES):
        problem = f"slide should be one of {', '.join(SLIDES)}, got '{slide}'"
        raise LessonTextError(problem, path, cell=title, line=line)
    return slide
