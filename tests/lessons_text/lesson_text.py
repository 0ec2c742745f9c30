"""A lesson as its author writes it: its cells by title, and its answers run as a student runs them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import jupytext

ROOT = Path(__file__).resolve().parents[2]
REGION = re.compile(
    r"[^\n]*### BEGIN (SOLUTION|MARK SCHEME).*?### END \1[^\n]*", re.DOTALL
)  # fmt: skip
# How a visible test says no: with its message, or by an operation that cannot be carried out.
BITES = (AssertionError, RuntimeError, ValueError)
Edits = Mapping[str, tuple[str, str]]


class StaleEditError(LookupError):
    """An edit that no longer finds what it changes: no AssertionError, so it never passes for a bite."""


@dataclass(frozen=True)
class Cell:
    """One cell: its tag (`test softmax 2`), whether it is code, and its source."""

    title: str
    is_code: bool
    source: str

    @property
    def shown(self) -> str:
        """What a student is given of it: no answers, no mark schemes."""
        return REGION.sub("", self.source)

    @property
    def regions(self) -> list[str]:
        """What lies between the marks of an answer, one text for each."""
        return re.findall(r"### BEGIN SOLUTION\n(.*?)[^\n]*### END SOLUTION", self.source, re.DOTALL)


class LessonText:
    """A file `source/NN_name.py`, read once."""

    def __init__(self, name: str, extras: Mapping[str, Any] | None = None) -> None:
        """`extras` are names that a demo of the lesson makes, and its tests use."""
        self.name = name
        self.path = ROOT / "source" / f"{name}.py"
        self.extras = dict(extras or {})

    @cached_property
    def cells(self) -> list[Cell]:
        """All cells, in order."""
        parsed = jupytext.read(self.path).cells
        return [Cell(c.metadata.get("title", ""), c.cell_type == "code", c.source) for c in parsed]

    @property
    def exercises(self) -> dict[str, int]:
        """The points of each exercise, in order, written ones included."""
        tags = (cell.title.split() for cell in self.cells)
        return {tag[1]: int(tag[2]) for tag in tags if tag and tag[0] in ("test", "written")}

    @property
    def coded(self) -> list[str]:
        """The exercises that are answered in code, in order."""
        titles = (cell.title for cell in self.cells)
        return [title.split()[1] for title in titles if title.startswith("solution ")]

    def source(self, title: str) -> str:
        """Return the source of the one cell with this title."""
        (found,) = [cell.source for cell in self.cells if cell.title == title]
        return found

    def blank(self, name: str) -> str:
        """Return a solution cell as students get it."""
        return REGION.sub(_unanswered, self.source(f"solution {name}"))

    def run(self, edits: Edits | None = None, until: str = "") -> dict[str, Any]:
        """Run the lesson with the answers edited, and return what it defines.

        With `until`, the test of that exercise alone is run, and nothing after it; else all are.
        Raises StaleEditError for an edit that finds nothing to change.
        """
        scope = self.scope_before(until or self.coded[0], edits)
        names = [until] if until else self.coded
        for name in names:
            self._execute(self.edited(name, edits or {}), scope)
            self._execute(self.source(f"test {name} {self.exercises[name]}"), scope)
        return scope

    def scope_before(self, name: str, edits: Edits | None = None) -> dict[str, Any]:
        """Return what is in scope when a student comes to an exercise, having solved those before."""
        scope: dict[str, Any] = {"__name__": "lesson", **self.extras}
        for cell in self.cells:
            if cell.title in ("setup", "given"):
                self._execute(cell.source, scope)
        for earlier in self.coded[: self.coded.index(name)]:
            self._execute(self.edited(earlier, edits or {}), scope)
        return scope

    def run_blank(self, name: str) -> None:
        """Run an exercise's visible test on the cell as students get it, after right ones before it."""
        scope = self.scope_before(name)
        self._execute(self.blank(name), scope)
        self._execute(self.source(f"test {name} {self.exercises[name]}"), scope)

    def edited(self, name: str, edits: Edits) -> str:
        """Return a model answer, edited where there is an edit for it."""
        answer = self.source(f"solution {name}")
        old, new = edits.get(name, ("", ""))
        if old not in answer:
            raise StaleEditError(f"the answer to {name} no longer contains {old!r}")
        return answer.replace(old, new) if old else answer

    def _execute(self, source: str, scope: dict[str, Any]) -> None:
        exec(compile(source, self.name, "exec"), scope)


def _unanswered(region: re.Match[str]) -> str:
    """Return what nbgrader puts in an answer's place, as deep in the line as the answer was."""
    indent = region[0][: len(region[0]) - len(region[0].lstrip())]
    return f"{indent}# YOUR CODE HERE\n{indent}raise NotImplementedError()"
