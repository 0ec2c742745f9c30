"""The cells of a lesson's text, and the tags that say what each of them is for."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

SLIDES = ("slide", "subslide", "fragment", "notes", "skip")


class Kind(StrEnum):
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
        return self in (Kind.PROSE, Kind.WRITTEN)

    @property
    def is_answered(self) -> bool:
        """Whether students fill in cells of this kind."""
        return self in (Kind.SOLUTION, Kind.WRITTEN)


@dataclass(frozen=True)
class Cell:
    """One cell: `text` is its content, `line` the line of its header in the lesson's file."""

    kind: Kind
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
        return f"{self.exercise}-test" if self.kind is Kind.TEST else f"{self.kind}-{self.ordinal}"


class Tag(NamedTuple):
    """What a cell's header says of it."""

    kind: Kind
    exercise: str = ""
    points: float = 0.0


class TagProblem(NamedTuple):
    """Why a header cannot be read."""

    problem: str


# The words that follow a kind in its tag; prose has no tag at all.
WORDS: Mapping[Kind, tuple[str, ...]] = {
    Kind.SETUP: (),
    Kind.GIVEN: (),
    Kind.DEMO: (),
    Kind.SOLUTION: ("ID",),
    Kind.TEST: ("ID", "POINTS"),
    Kind.WRITTEN: ("ID", "POINTS"),
}


def read_tag(title: str, *, markdown: bool) -> Tag | TagProblem:
    """Return what a cell's title says; a TagProblem if it is not one of the known tags."""
    words = title.split()
    if not words:
        return Tag(Kind.PROSE) if markdown else TagProblem(f"code cell without a tag; {_known()}")
    if words[0] not in list(WORDS):
        return TagProblem(f"unknown tag '{words[0]}'; {_known()}")
    kind = Kind(words[0])
    if kind.is_markdown != markdown:
        wanted = "a markdown cell: add [markdown]" if kind.is_markdown else "a code cell"
        return TagProblem(f"a '{kind}' cell is {wanted}")
    return _with_words(kind, words[1:])


def _with_words(kind: Kind, words: list[str]) -> Tag | TagProblem:
    form = " ".join(("# %%", kind, *WORDS[kind]))
    if len(words) != len(WORDS[kind]):
        return TagProblem(f"the header should read '{form}', got '{' '.join((kind, *words))}'")
    exercise = words[0] if words else ""
    if len(words) < 2:
        return Tag(kind, exercise)
    try:
        return Tag(kind, exercise, float(words[1]))
    except ValueError:
        return TagProblem(f"the header should read '{form}', got '{words[1]}' for POINTS")


def _known() -> str:
    return "a header is '# %% [markdown]' or '# %% ' and one of " + ", ".join(WORDS)
