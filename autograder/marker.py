"""Marks submissions: one warm sandbox, one judge, any number of notebooks."""

import ast
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import Any

import nbformat
import torch

from autograder.align import Aligned, Part, Role, align, empty
from autograder.build import read_lesson
from autograder.course import Course
from autograder.judge.sitting import Sitting
from autograder.judge.workbench import Workbench
from autograder.lessons import load_lesson
from autograder.results import Report
from autograder.sandbox.bubblewrap import find_bubblewrap
from autograder.sandbox.client import WarmProcess

BASICS = "import math\nimport torch\nimport torch.nn.functional as F\nfrom torch import nn\n"
RESTORED = "\n".join(
    f"try: {name}\nexcept NameError: {line}"
    for name, line in zip(("math", "torch", "F", "nn"), BASICS.splitlines(), strict=True)
)


@dataclass(frozen=True)
class Marked:
    """A marked submission: the report, and the notebook it speaks of, in the master's shape."""

    report: Report
    notebook: Any
    seed: int


class Marker:
    """Marks notebooks of one course. Use as a context manager: it holds a process open.

    `sandboxed=False` runs submissions with the caller's own rights, and is for code one trusts.
    `seed` draws the inputs; without one it is drawn once, so that all that is marked in one go gets
    the same inputs, and what known mistakes do to them is found out once.
    """

    def __init__(self, course: Course, *, sandboxed: bool = True, seed: int | None = None) -> None:
        """Raises SandboxMissingError when bubblewrap is wanted and not there."""
        torch.set_num_threads(1)
        self.course, self.sandboxed = course, sandboxed
        self._seed = secrets.randbits(62) if seed is None else seed
        if sandboxed:
            find_bubblewrap()
        self._modules: frozenset[str] = frozenset()
        self._warm: WarmProcess | None = None

    def mark(self, lesson: str, path: Path) -> Marked:
        """Mark the notebook at `path`. Raises SubmissionError if it is no notebook of the lesson."""
        return self._mark(lesson, align(self.course, lesson, path))

    def mark_broken(self, lesson: str, reason: str) -> Marked:
        """Give every exercise of a file that cannot be read the outcome `missing`."""
        return self._mark(lesson, empty(self.course, lesson, reason))

    def _mark(self, lesson: str, aligned: Aligned) -> Marked:
        sitting = Sitting(workbench(self.course, lesson), _in_scope(aligned.parts), self._seed)
        sitting.incidents.add(None, (("locked-cell", name) for name in aligned.changed))
        exercises = sitting.mark(self._warmed(lesson))
        report = Report(
            lesson=lesson,
            score=sum(exercise.score or 0.0 for exercise in exercises),
            max_score=sum(exercise.points for exercise in exercises),
            exercises=exercises,
            repairs=aligned.repairs,
            incidents=sitting.incidents.found,
        )
        return Marked(report, aligned.notebook, self._seed)

    def _warmed(self, lesson: str) -> WarmProcess:
        """Return a warm process that has imported what the lesson imports, and what others before it did."""
        wanted = frozenset(_imports(self.course, lesson)) | set(load_lesson(lesson).imports)
        if self._warm is None or not wanted <= self._modules:
            self.close()
            self._modules |= wanted
            self._warm = WarmProcess(sorted(self._modules), sandboxed=self.sandboxed)
        return self._warm

    def close(self) -> None:
        """End the warm process."""
        if self._warm is not None:
            self._warm.close()
            self._warm = None

    def __enter__(self) -> "Marker":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def workbench(course: Course, lesson: str) -> Workbench:
    """Return the judge's reference code of a lesson; read again only when its text has changed."""
    path = course.text(lesson)
    changed = path.stat().st_mtime_ns if path.is_file() else 0
    return _workbench(course, lesson, changed)


@lru_cache(maxsize=16)
def _workbench(course: Course, lesson: str, _changed: int) -> Workbench:
    checks = load_lesson(lesson)
    text = read_lesson(course.text(lesson))
    answers = {ex.id: text.answer(ex.id) for ex in checks.exercises if not ex.written}
    return Workbench(checks, answers)


def _in_scope(parts: list[Part]) -> list[Part]:
    """Put what every lesson has in scope first, whatever happened to the locked cells."""
    return [Part(Role.LOCKED, BASICS), *_restored(parts)]


def _restored(parts: list[Part]) -> Iterator[Part]:
    """Yield the parts; what an answer deleted of the basics is there again for its test."""
    for part in parts:
        if part.role is Role.TEST:
            yield Part(Role.LOCKED, RESTORED)
        yield part


def _imports(course: Course, lesson: str) -> Iterator[str]:
    """Yield the modules that a released lesson imports, for the warm process to import beforehand."""
    for cell in nbformat.read(course.release_notebook(lesson), as_version=4).cells:
        about = cell.metadata.get("nbgrader", {})
        if cell.cell_type == "code" and about.get("locked") and not about.get("grade"):
            yield from _imported(cell.source)


def _imported(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
