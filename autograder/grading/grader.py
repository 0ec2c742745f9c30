"""Grades submissions of one course: one warm sandbox for any number of notebooks."""

import ast
import hashlib
import platform
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, Self

import torch
from nbformat import NotebookNode

from autograder.grading.session import GradingSession
from autograder.grading.version import lesson_version
from autograder.judge.kept_results import KeptResults, ResultsFile
from autograder.judge.oracle import Oracle
from autograder.lessons.loading import PACKAGE, load_lesson
from autograder.model.course import Course, package_of
from autograder.model.exercise import Lesson
from autograder.model.nbgrader_config import search_seconds
from autograder.model.report import Incident, Report
from autograder.probe.notes import Kind
from autograder.sandbox.client import WarmProcess
from autograder.sandbox.start import Started, require_sandbox
from autograder.storage.course_key import lesson_key
from autograder.submissions.align import Aligned, align, empty
from autograder.submissions.released import released_notebook

# The share of the search time under `check` that an answer gets in a class, which is to take little longer.
IN_A_CLASS: Final = 0.15


@dataclass(frozen=True)
class GradedSubmission:
    """A graded submission: its report, and the notebook that the report is about.

    `notebook` has the cells of the released one. `tracebacks` are the grader's own failures, by
    exercise: they may quote model answers. `changes` are those that the lines of the report stand for, by
    exercise: they are for instructors.
    """

    report: Report
    notebook: Any
    tracebacks: dict[str, str]
    changes: dict[str, str] = field(default_factory=dict)


class Grader:
    """Grades notebooks of one course. Use it as a context manager: it keeps a process open.

    `sandboxed=False` runs submissions with the caller's own rights, and is for code that you trust.
    """

    def __init__(self, course: Course, *, sandboxed: bool = True, started: Started | None = None) -> None:
        """Take over a warm process that was `started`, or start one when it is needed.

        Raises SandboxMissingError if a sandbox is wanted and cannot start here.
        """
        torch.set_num_threads(1)
        self.course, self.sandboxed = course, sandboxed
        self._search_seconds = search_seconds(course)
        if sandboxed:
            require_sandbox()
        self._modules: frozenset[str] = frozenset()
        self._warm: WarmProcess | None = None
        self._started = started

    def grade(
        self, lesson: str, path: Path, settled: Report | None = None, *, lines: bool = False
    ) -> GradedSubmission:
        """Grade the notebook at `path`. Raises SubmissionError if it is not one of the lesson.

        The exercises of `settled`, an earlier report, are not graded again. With `lines`, the lines to blame
        are looked for as well, which takes longer than grading.
        """
        started = time.monotonic()
        names = load_lesson(self.course, lesson).names
        aligned = align(self.course, lesson, path, names)
        graded = self._grade(lesson, aligned, started, settled)
        if not (lines and self._search_seconds):
            return graded
        report, changes = self._searched(aligned, graded.report, self._search_seconds)
        return replace(graded, report=report, changes=changes)

    def find_lines(self, lesson: str, path: Path, report: Report) -> tuple[Report, dict[str, str]]:
        """Return the report of a notebook of a class with the lines to blame, and the changes that tell.

        Raises SubmissionError as `grade` does.
        """
        if not self._search_seconds:
            return report, {}
        aligned = align(self.course, lesson, path, load_lesson(self.course, lesson).names)
        return self._searched(aligned, report, IN_A_CLASS * self._search_seconds)

    def _searched(self, aligned: Aligned, report: Report, seconds: float) -> tuple[Report, dict[str, str]]:
        oracle, results = self._oracle(report.lesson)
        session = GradingSession(oracle, aligned.parts, self._warmed_up(oracle.lesson))
        found = session.find_lines(report, seconds)
        results.save()
        return found

    def _oracle(self, lesson: str) -> tuple[Oracle, ResultsFile]:
        return _cached_oracle(self.course, load_lesson(self.course, lesson), lesson_key(self.course, lesson))

    def grade_broken(self, lesson: str) -> GradedSubmission:
        """Give every exercise the outcome `missing`, for a submission without a notebook to grade."""
        return self._grade(lesson, empty(self.course, lesson), time.monotonic())

    def _grade(
        self, lesson: str, aligned: Aligned, started: float, settled: Report | None = None
    ) -> GradedSubmission:
        oracle, results = self._oracle(lesson)
        warm = self._warmed_up(oracle.lesson)
        session = GradingSession(oracle, aligned.parts, warm, started, settled)
        session.incidents.add(None, ((Kind.LOCKED_CELL, name) for name in aligned.changed))
        exercises = session.grade()
        results.save()
        report = Report(
            lesson=lesson,
            score=sum(exercise.score or 0.0 for exercise in exercises),
            max_score=sum(exercise.points for exercise in exercises),
            exercises=exercises,
            repairs=aligned.repairs,
            incidents=_incidents(session.incidents.found, settled),
        )
        return GradedSubmission(report, aligned.notebook, session.tracebacks)

    def _warmed_up(self, lesson: Lesson) -> WarmProcess:
        """Return a warm process that has imported what this lesson and those before it need."""
        release = released_notebook(self.course, lesson.name)
        wanted = {*_imports(release), *lesson.imports, *_fixtures(lesson)}
        if self._warm is None or not self._warm.alive:
            started, self._started = self._started, None
            self.close()
            self._modules |= wanted
            self._warm = WarmProcess(sorted(self._modules), sandboxed=self.sandboxed, started=started)
        elif not wanted <= self._modules:
            self._modules |= wanted
            self._warm.add(wanted)
        return self._warm

    def close(self) -> None:
        """End the warm process."""
        if self._warm is not None:
            self._warm.close()
            self._warm = None
        if self._started is not None:
            self._started.close()
            self._started = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _incidents(found: list[Incident], settled: Report | None) -> list[Incident]:
    """Return what was found, and what an earlier report says of the exercises that it settles."""
    if settled is None:
        return found
    known = {exercise.id for exercise in settled.exercises}
    return [*settled.incidents, *(each for each in found if each.exercise not in known)]


@lru_cache(maxsize=16)
def _cached_oracle(course: Course, lesson: Lesson, key: bytes) -> tuple[Oracle, ResultsFile]:
    """Return the oracle of a lesson and the results it keeps, for as long as its text stays as it is."""
    computing = f"{lesson_version(course, lesson.name)} {torch.__version__} {platform.machine()}"
    version = hashlib.sha256(computing.encode() + key).hexdigest()
    results = ResultsFile(course.results, lesson.name, version)
    return Oracle(lesson, key, KeptResults(results)), results


def _fixtures(lesson: Lesson) -> list[str]:
    """Return the module with a lesson's own operations, if there is one."""
    module = f"{PACKAGE}.{package_of(lesson.name)}.fixtures"
    return [module] if find_spec(module) else []


def _imports(release: NotebookNode) -> Iterator[str]:
    """Yield the modules that the locked cells of a released lesson import."""
    for cell in release.cells:
        about = cell.metadata.get("nbgrader", {})
        if cell.cell_type == "code" and about.get("locked") and not about.get("grade"):
            yield from _imported(cell.source)


@lru_cache(maxsize=1024)
def _imported(source: str) -> frozenset[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return frozenset(found)
