"""Reading a lesson as its author writes it: py:percent text with one tag to a cell.

What only the instructor sees lies in marked regions of a cell, between BEGIN and END lines. The markers are
nbgrader's own, and are found as nbgrader finds them: anywhere in a line.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from autograder.model.errors import LessonTextError

VISIBLE_TESTS = "# Visible tests: run this cell"  # their first line, which says what is folded
SLIDES = ("slide", "subslide", "fragment", "notes", "skip")


class CellKind(StrEnum):
    """What a cell is for; the word its tag begins with."""

    PROSE = "prose"
    SETUP = "setup"
    GIVEN = "given"
    DEMO = "demo"
    SOLUTION = "solution"
    TEST = "test"
    WRITTEN = "written"

    @property
    def is_markdown(self) -> bool:
        """Whether cells of this kind hold text rather than code."""
        return self in (CellKind.PROSE, CellKind.WRITTEN)

    @property
    def is_answered(self) -> bool:
        """Whether students fill in cells of this kind."""
        return self in (CellKind.SOLUTION, CellKind.WRITTEN)


@dataclass(frozen=True)
class LessonCell:
    """One cell: `text` is its content, `line` the line of its header in the lesson's file."""

    kind: CellKind
    text: str
    line: int
    ordinal: int = 1
    exercise: str = ""
    points: float = 0.0
    slide: str = ""

    @property
    def id(self) -> str:
        """The cell's id in notebooks: the exercise's id, or the kind and an ordinal."""
        if self.kind.is_answered:
            return self.exercise
        return f"{self.exercise}-test" if self.kind is CellKind.TEST else f"{self.kind}-{self.ordinal}"

    @property
    def in_notebooks(self) -> str:
        """Its text as notebooks have it: visible tests begin with a line that says what they are."""
        return f"{VISIBLE_TESTS}\n{self.text}" if self.kind is CellKind.TEST else self.text


class Tag(NamedTuple):
    """What a cell's header says of it."""

    kind: CellKind
    exercise: str = ""
    points: float = 0.0


# The words that follow a kind in its tag; prose has no tag at all.
WORDS: Mapping[CellKind, tuple[str, ...]] = {
    CellKind.SETUP: (),
    CellKind.GIVEN: (),
    CellKind.DEMO: (),
    CellKind.SOLUTION: ("ID",),
    CellKind.TEST: ("ID", "POINTS"),
    CellKind.WRITTEN: ("ID", "POINTS"),
}


def read_tag(title: str, *, markdown: bool) -> Tag:
    """Return what a cell's title says. Raises ValueError, saying how it should read, for an unknown tag."""
    known = "a header is '# %% [markdown]' or '# %% ' and one of " + ", ".join(WORDS)
    if not title.split():
        if markdown:
            return Tag(CellKind.PROSE)
        raise ValueError(f"code cell without a tag; {known}")
    name, *words = title.split()
    if name not in list(WORDS):
        raise ValueError(f"unknown tag '{name}'; {known}")
    kind = CellKind(name)
    if kind.is_markdown != markdown:
        wanted = "a markdown cell: add [markdown]" if kind.is_markdown else "a code cell"
        raise ValueError(f"a '{kind}' cell is {wanted}")
    form = " ".join(("# %%", kind, *WORDS[kind]))
    if len(words) != len(WORDS[kind]):
        raise ValueError(f"the header should read '{form}', got '{' '.join((kind, *words))}'")
    try:
        return Tag(kind, words[0] if words else "", float(words[1]) if len(words) > 1 else 0.0)
    except ValueError:
        raise ValueError(f"the header should read '{form}', got '{words[1]}' for POINTS") from None


class Region(StrEnum):
    """What lies between a pair of markers."""

    SOLUTION = "SOLUTION"
    HIDDEN = "HIDDEN TESTS"
    SCHEME = "MARK SCHEME"


MARKER = re.compile(rf"(BEGIN|END) ({'|'.join(Region)})")
# What an author may have meant as a marker, although nbgrader would not recognise it.
MISSPELT = re.compile(r"^\s*#+\s*(BEGIN|END)[\s_-]*(SOLUTIONS?|HIDDEN|MARK[\s_-]*SCHEME)\b", re.IGNORECASE)


def enclosed(text: str, region: Region) -> str:
    """Return a text between the markers of a region."""
    return f"### BEGIN {region}\n{text}\n### END {region}"


def labelled(text: str) -> Iterator[tuple[str, Region | None]]:
    """Yield each line but the markers, with the region it lies in.

    A region inside another counts as the inner one.
    """
    inside: list[Region] = []
    for line in text.split("\n"):
        marker = MARKER.search(line)
        if marker is None:
            yield line, inside[-1] if inside else None
        elif marker[1] == "BEGIN":
            inside.append(Region(marker[2]))
        elif inside:
            inside.pop()


def without(text: str, *regions: Region) -> str:
    """Return a cell's text without some regions, and without any marker."""
    return "\n".join(line for line, region in labelled(text) if region not in regions).rstrip()


def inside(text: str, region: Region) -> str:
    """Return the text of one kind of region, markers left out."""
    return "\n".join(line for line, here in labelled(text) if here is region)


def marker_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the markers in a text: the offset of the line, and the line."""
    for offset, line in enumerate(text.split("\n")):
        if MARKER.search(line) or MISSPELT.search(line):
            yield offset, line


def marker_problem(text: str) -> tuple[int, str] | None:
    """Return the first fault in a cell's markers: the offset of its line, and what is wrong."""
    opened: tuple[int, str] | None = None
    for offset, line in marker_lines(text):
        marker = MARKER.search(line)
        if marker is None:
            return offset, f"'{line.strip()}' is not quite one of nbgrader's markers"
        verb, name = marker.groups()
        if verb == "BEGIN" and opened:
            return offset, f"BEGIN {name} inside BEGIN {opened[1]}: close that one first"
        if verb == "END" and (opened is None or opened[1] != name):
            return offset, f"END {name} without BEGIN {name}"
        opened = (offset, name) if verb == "BEGIN" else None
    return (opened[0], f"BEGIN {opened[1]} without END {opened[1]}") if opened else None


def tucked(text: str) -> str:
    """Return a written cell with its mark scheme moved into its solution.

    nbgrader takes a mark scheme out of its own "task" cells only, and stops at any other.
    """
    answer, scheme = inside(text, Region.SOLUTION), inside(text, Region.SCHEME)
    if scheme:
        answer += f"\n\n**Mark scheme**\n\n{scheme}"
    return f"{without(text, *Region).strip()}\n\n{enclosed(answer, Region.SOLUTION)}"


def skeleton(text: str, *, markdown: bool) -> str:
    """Return what nbgrader makes of a solution cell for students: its stub for each solution."""
    # nbgrader takes most of a second to import, and reading a lesson does not need it.
    from nbformat.v4 import new_code_cell, new_markdown_cell
    from nbgrader.preprocessors import ClearSolutions

    new = new_markdown_cell if markdown else new_code_cell
    cell = new(text, metadata={"nbgrader": {"solution": True}})
    cleared, _ = ClearSolutions().preprocess_cell(cell, {"language": "python"}, 0)
    return str(cleared.source)


# In prose, a paper's number becomes a link to it; where an author made the link, it stays as it is.
ARXIV = re.compile(r"(?<![\[/\w])arXiv:(\d{4}\.\d{4,5})")
# In a hint, so does a name of PyTorch's, with its page in the documentation.
HINT = re.compile(r"<details><summary>Hint (\d+)")
WHOLE_HINT = re.compile(f"{HINT.pattern}.*?</details>", re.DOTALL)
PYTORCH = re.compile(r"(?<!\[)`(torch|nn|F|Tensor)\.(\w+)(\([^`\n]*\))?`")
PYTORCH_PAGE = "https://docs.pytorch.org/docs/stable/generated/{}.{}.html"
FULL_NAMES = {"nn": "torch.nn", "F": "torch.nn.functional", "Tensor": "torch.Tensor"}
FENCE = "# ---"  # around the header of the file
HEADER = re.compile(r"^#\s*%%+(\s|$)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
EXERCISE = re.compile(
    r"^#{2,3} (?P<title>(?:Exercise (?P<number>\d+)|Stretch): (?P<subject>.*?))"
    r"(?P<small_print> *\((?P<points>[\d.]+) points?\b.*\)|, not counted)?$",
    re.MULTILINE,
)
IMAGE = re.compile(r"!\[(?P<alt>[^\]]*)\]\(\s*<?(?P<path>[^)\s>]*)[^)]*\)")
LINK = re.compile(r"(?<!!)\[([^\]]*)\]\([^)]*\)")
MINUTES = re.compile(r"\b(\d+) minutes, (?:easy|medium|hard)")
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
    """A lesson's cells, in order, and what its header declares.

    That is the sum of the points (0 for none), and whether the lesson is extra: it counts in no total of the
    course.
    """

    path: Path
    cells: tuple[LessonCell, ...]
    points: float = 0.0
    extra: bool = False

    @property
    def name(self) -> str:
        """The lesson's name, `03_attention`: also its folder's and notebook's."""
        return self.path.stem

    @property
    def heading(self) -> str:
        """The heading of the whole lesson, its name if it has none."""
        return next((found[1] for cell in self.cells if (found := HEADING.search(cell.text))), self.name)

    @property
    def exercises(self) -> list[ExerciseHeader]:
        """The graded parts in order; a code exercise has the points of its test cell."""
        return [
            ExerciseHeader(cell.exercise, cell.points, cell.kind is CellKind.WRITTEN, cell.line)
            for cell in self.cells
            if cell.kind in (CellKind.TEST, CellKind.WRITTEN)
        ]

    def answer(self, exercise: str) -> str:
        """Return a solution cell with the model answer in place and no markers.

        A written one comes without its mark scheme. Raises LessonTextError for an unknown id.
        """
        return without(self._answered(exercise).text, Region.SCHEME)

    def skeleton(self, exercise: str) -> str:
        """Return a solution cell as students get it; LessonTextError for an unknown id."""
        cell = self._answered(exercise)
        written = cell.kind is CellKind.WRITTEN
        return skeleton(tucked(cell.text) if written else cell.text, markdown=written)

    def question(self, exercise: str) -> str:
        """Return what a written exercise asks; LessonTextError for an unknown id."""
        return without(self._answered(exercise).text, *Region).strip()

    def model_answer(self, exercise: str) -> str:
        """Return a written exercise's model answer alone; LessonTextError for an unknown id."""
        return inside(self._answered(exercise).text, Region.SOLUTION)

    def mark_scheme(self, exercise: str) -> str:
        """Return a written exercise's mark scheme; LessonTextError for an unknown id."""
        return inside(self._answered(exercise).text, Region.SCHEME)

    def test(self, exercise: str) -> str:
        """Return an exercise's visible tests as notebooks have them; LessonTextError for an unknown id."""
        return self._find(exercise, (CellKind.TEST,)).in_notebooks

    def title(self, exercise: str, *, numbered: bool = False) -> str:
        """Return the heading of an exercise without its points and its number, the id if it has none."""
        headings = list(EXERCISE.finditer(self._before(exercise)))
        return headings[-1]["title" if numbered else "subject"] if headings else exercise

    def minutes(self, exercise: str) -> int:
        """Return the minutes that the text gives for an exercise, 0 if it gives none."""
        minutes = MINUTES.findall(self._before(exercise))
        return int(minutes[-1]) if minutes else 0

    def _before(self, exercise: str) -> str:
        """Return the text between the answer before this exercise and its own, or what is asked."""
        answered = [n for n, cell in enumerate(self.cells) if cell.kind.is_answered]
        place = next(n for n in answered if self.cells[n].exercise == exercise)
        first = max((n + 1 for n in answered if n < place), default=0)
        return "\n".join(cell.text for cell in self.cells[first : place + 1] if cell.kind.is_markdown)

    def _answered(self, exercise: str) -> LessonCell:
        return self._find(exercise, (CellKind.SOLUTION, CellKind.WRITTEN))

    def _find(self, exercise: str, kinds: tuple[CellKind, ...]) -> LessonCell:
        for cell in self.cells:
            if cell.exercise == exercise and cell.kind in kinds:
                return cell
        known = ", ".join(cell.exercise for cell in self.cells if cell.kind in kinds)
        wanted = " or ".join(kinds)
        raise LessonTextError(f"no {wanted} cell '{exercise}'; it has: {known}", self.path)


def read_lesson(path: Path) -> LessonText:
    """Read a lesson's text into cells, again only if the file has changed.

    Raises LessonTextError if the file does not exist, or if a header is not one of the known ones.
    The rules that span cells are the business of `check_rules`.
    """
    if not path.is_file():
        raise LessonTextError("no such lesson text", path)
    return _read(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=64)
def _read(path: Path, _changed: int) -> LessonText:
    import jupytext  # takes half a second to import

    text = path.read_text(encoding="utf-8")
    notebook = jupytext.reads(text, fmt="py:percent")
    lines = [n for n, line in enumerate(text.split("\n"), start=1) if HEADER.match(line)]
    if len(lines) != len(notebook.cells):
        problem = f"expected a cell for each of the {len(lines)} '# %%' lines, got {len(notebook.cells)}"
        raise LessonTextError(f"{problem}; text before the first one belongs to no cell", path)
    declared = header(path)
    points = declared.get("points")
    total = float(points) if isinstance(points, (int, float)) else 0.0
    return LessonText(path, tuple(_cells(notebook.cells, lines, path)), total, declared.get("extra") is True)


def header(path: Path) -> Mapping[str, Any]:
    """Return what a lesson's header declares, as in `coursework: {points: 20, extra: true}`.

    Reads no further than the header and needs no jupytext, since reports ask every lesson for it. What is no
    header declares nothing.
    """
    with path.open(encoding="utf-8") as file:
        if next(file, "").strip() != FENCE:
            return {}
        lines = [line.removeprefix("#") for line in takewhile(lambda line: line.strip() != FENCE, file)]
    return _declared("".join(lines))


@lru_cache(maxsize=64)  # each student's index asks for all lessons
def _declared(text: str) -> Mapping[str, Any]:
    try:
        declared = yaml.safe_load(text)["jupyter"]["coursework"]
    except (yaml.YAMLError, LookupError, TypeError):
        return {}
    return declared if isinstance(declared, Mapping) else {}


def _cells(parsed: list[Any], lines: list[int], path: Path) -> Iterator[LessonCell]:
    seen: Counter[CellKind] = Counter()
    for raw, line in zip(parsed, lines, strict=True):
        title = raw.metadata.get("title", "")
        slide = str(raw.metadata.get("slide", ""))
        unknown = sorted(set(raw.metadata) - JUPYTEXT_KEYS)
        problem = ""
        if unknown:
            problem = f"unknown metadata {', '.join(unknown)}; a header takes slide=… only"
        elif slide not in ("", *SLIDES):
            problem = f"slide should be one of {', '.join(SLIDES)}, got '{slide}'"
        try:
            tag = read_tag(title, markdown=raw.cell_type == "markdown")
        except ValueError as error:
            problem = str(error)
        if problem:
            raise LessonTextError(problem, path, cell=title, line=line)
        seen[tag.kind] += 1
        text = _with_links(raw.source) if tag.kind.is_markdown else raw.source
        yield LessonCell(tag.kind, text, line, seen[tag.kind], tag.exercise, tag.points, slide)


def _with_links(prose: str) -> str:
    """Return prose with its papers, and what hints name of PyTorch, as links."""
    text = ARXIV.sub(r"[\g<0>](https://arxiv.org/abs/\1)", prose)
    return WHOLE_HINT.sub(lambda hint: PYTORCH.sub(_to_pytorch, hint[0]), text)


def _to_pytorch(name: re.Match[str]) -> str:
    return f"[{name[0]}]({PYTORCH_PAGE.format(FULL_NAMES.get(name[1], name[1]), name[2])})"
