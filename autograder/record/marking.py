"""One submission through the marker, whatever it is and whatever happens.

Both the class run and nbgrader's own command mark through here, so their marks cannot differ.
"""

import hashlib
import math
import traceback
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

import nbformat
from nbformat import NotebookNode

from autograder.course import Course
from autograder.errors import AutograderError, SubmissionError
from autograder.record.attempts import Attempt
from autograder.record.pages import answer_digests, exercise_of, graded_cells
from autograder.results import CheckReport, ExerciseReport, Outcome, Report

OUR_FAULT = CheckReport(
    id="grader",
    title="The autograder could mark this exercise",
    passed=False,
    message="It failed for a reason of its own; a person will look at your answer.",
)


Result = tuple[Attempt, NotebookNode]


class Marked(Protocol):
    """What a marker gives: the report, and the answers laid over the master."""

    @property
    def report(self) -> Report:
        """Every exercise with its outcome."""

    @property
    def notebook(self) -> NotebookNode:
        """The aligned notebook."""

    @property
    def seed(self) -> int:
        """What the inputs were drawn from."""


class Marking(Protocol):
    """What marks: `autograder.marker.Marker`, or a test's stand-in."""

    def mark(self, lesson: str, path: Path) -> Marked:
        """Mark a notebook; SubmissionError if it is none."""

    def mark_broken(self, lesson: str, reason: str) -> Marked:
        """Give `missing` for every exercise, over the empty master."""


@dataclass(frozen=True)
class Handed:
    """One student's submission for one lesson: where it is, or would be."""

    course: Course
    student: str
    lesson: str
    version: str

    @property
    def path(self) -> Path:
        """The notebook's path."""
        return self.course.submission(self.student, self.lesson)

    def sha256(self) -> str:
        """Return the digest of the file; that of no bytes where there is no ordinary file."""
        if self.path.is_symlink() or not self.path.is_file():
            return hashlib.sha256(b"").hexdigest()
        with self.path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()


def mark(marker: Marking, handed: Handed, *, sandboxed: bool) -> Result:
    """Mark one submission and return the attempt with the aligned notebook.

    A broken or absent file gives `missing`, a failure of the marker `grader-fault`. Raises only
    other AutograderErrors, which concern the course and would stop every submission alike.
    """
    sha256 = handed.sha256()
    try:
        marked = _marked(marker, handed)
    except AutograderError:
        raise
    except Exception:  # whatever the marker trips over, the run goes on
        return fault(handed, sha256, traceback.format_exc(), sandboxed=sandboxed)
    attempt = Attempt(
        student=handed.student,
        lesson=handed.lesson,
        sha256=sha256,
        version=handed.version,
        marked_at=datetime.now(UTC),
        sandboxed=sandboxed,
        seed=marked.seed,
        report=_sound(marked.report),
        answers=answer_digests(marked.notebook, marked.report),
    )
    return attempt, marked.notebook


def fault(handed: Handed, sha256: str, detail: str, *, sandboxed: bool) -> Result:
    """Return an attempt that leaves every exercise to a person, over the released notebook."""
    report, notebook = _left_open(handed)
    return Attempt(
        student=handed.student,
        lesson=handed.lesson,
        sha256=sha256,
        version=handed.version,
        marked_at=datetime.now(UTC),
        sandboxed=sandboxed,
        report=report,
        detail=detail,
    ), notebook


def _left_open(handed: Handed) -> tuple[Report, NotebookNode]:
    released = handed.course.release_notebook(handed.lesson)
    notebook = nbformat.read(released, as_version=4)
    exercises = [
        ExerciseReport(
            id=exercise_of(grade_id),
            points=cell.metadata.nbgrader["points"],
            score=None,
            outcome=Outcome.GRADER_FAULT,
            checks=[OUR_FAULT],
        )
        for grade_id, cell in graded_cells(notebook)
        if cell.metadata.nbgrader.get("grade")
    ]
    points = sum(exercise.points for exercise in exercises)
    return Report(
        lesson=handed.lesson,
        score=0.0,
        max_score=points,
        exercises=exercises,
        repairs=["The autograder failed on this notebook. What was handed in is kept as it was."],
    ), notebook


def _marked(marker: Marking, handed: Handed) -> Marked:
    try:
        _insist_on_a_file(handed.path)
        return marker.mark(handed.lesson, handed.path)
    except SubmissionError as error:
        return marker.mark_broken(handed.lesson, str(error))


def _insist_on_a_file(path: Path) -> None:
    """Raise SubmissionError unless an ordinary file is there: a link may lead to another's work."""
    if path.is_symlink():
        raise SubmissionError(f"{path.name} is a link: expected the notebook itself")
    if not path.is_file():
        others = ", ".join(sorted(f"'{other.name}'" for other in path.parent.glob("*.ipynb")))
        instead = f", found {others}: give the right one that name" if others else ""
        raise SubmissionError(f"no notebook '{path.name}' was handed in{instead}")


def _sound(report: Report) -> Report:
    """Leave to a person any score that nbgrader would misread: not finite, or out of range."""
    exercises = [done if _in_range(done) else _doubtful(done) for done in report.exercises]
    return report.model_copy(update={"exercises": exercises})


def _in_range(done: ExerciseReport) -> bool:
    if done.score is None:
        return done.outcome.waits_for_a_person
    return math.isfinite(done.score) and 0 <= done.score <= done.points


def _doubtful(done: ExerciseReport) -> ExerciseReport:
    return done.model_copy(
        update={
            "score": None,
            "outcome": Outcome.GRADER_FAULT,
            "checks": [*done.checks, OUR_FAULT],
        }
    )
