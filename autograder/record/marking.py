"""One submission through the marker, whatever it is and whatever happens.

Both the class run and nbgrader's own command mark through here, so their marks cannot differ.
"""

import math
import traceback
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

import nbformat
from nbformat import NotebookNode

from autograder.errors import AutograderError, SubmissionError
from autograder.record.attempts import Attempt
from autograder.record.handed import Handed
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


def mark(marker: Marking, handed: Handed, *, sandboxed: bool) -> Result:
    """Mark one submission and return the attempt with the aligned notebook.

    A broken or absent file gives `missing`, a failure of the marker `grader-fault`. Raises only
    other AutograderErrors, which concern the course and would stop every submission alike.
    """
    sha256 = handed.sha256()
    try:
        report, marked = _marked(marker, handed)
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
        report=_sound(report),
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


def _marked(marker: Marking, handed: Handed) -> tuple[Report, Marked]:
    """Return the report, with what is to be said about the file, and the rest of the marking."""
    try:
        path = handed.insist_on_a_file()
        marked = marker.mark(handed.lesson, path)
    except SubmissionError as error:
        marked, path = marker.mark_broken(handed.lesson, str(error)), None
    said = [] if path is None else list(handed.repairs(path))
    return marked.report.model_copy(update={"repairs": [*said, *marked.report.repairs]}), marked


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
