"""Grades one submission, whatever it is and whatever happens.

The class run and nbgrader's own command both grade through here, so their scores cannot differ.
"""

import math
import traceback
from collections.abc import Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from nbformat import NotebookNode

from autograder.grading.version import exercise_versions
from autograder.model.attempt import Attempt, describe_errors
from autograder.model.errors import AutograderError, NothingSubmittedError, SubmissionError, WrongFileError
from autograder.model.report import GRADER_ERROR, ExerciseReport, Outcome, Report, State
from autograder.submissions.released import answer_digests, graded_cells, metadata, own_notebook
from autograder.submissions.submission import Submission

if TYPE_CHECKING:  # the process that only collects results does without torch
    from autograder.grading.grader import GradedSubmission, Grader

Result = tuple[Attempt, NotebookNode]  # the notebook is empty where only lines were looked for


def grade_submission(grader: "Grader", submission: Submission, *, sandboxed: bool) -> Result:
    """Grade one submission and return the attempt with the aligned notebook, or search a `graded` one.

    Without a notebook to grade, the report's state says why, and every exercise is `missing`. A
    failure of the grader gives `grader-fault`. Raises only those AutograderErrors that concern the
    course and would stop every submission alike.
    """
    if submission.graded:
        return with_lines(grader, submission, submission.graded), NotebookNode()
    sha256 = submission.sha256()
    try:
        graded, found = _grade(grader, submission)
        for done in graded.report.exercises:
            assert _is_possible(done), f"impossible score: {done.score} of {done.points} points"
    except AutograderError:
        raise
    except Exception:  # a bug of ours must not stop the run
        return ungraded(submission, sha256, traceback.format_exc(), sandboxed=sandboxed)
    attempt = _attempt(
        submission,
        sha256,
        graded.report.with_file(**found),
        graded.tracebacks,
        sandboxed=sandboxed,
        answers=answer_digests(graded.notebook),
    )
    return attempt, graded.notebook


def with_lines(grader: "Grader", submission: Submission, attempt: Attempt) -> Attempt:
    """Return an attempt with the lines to blame in its wrong answers; as it is where that fails."""
    if not attempt.report.is_unsearched:
        return attempt
    try:
        report, changes = grader.find_lines(submission.lesson, submission.require_file(), attempt.report)
    except Exception:  # the scores are recorded, and a page can do without
        return attempt
    return attempt.model_copy(update={"report": report, "changes": attempt.changes | changes})


def ungraded(submission: Submission, sha256: str, reason: str, *, sandboxed: bool) -> Result:
    """Return an attempt that leaves every exercise to be graded by hand, and the released notebook.

    `reason` is for the instructor: a traceback, or what happened to the process.
    """
    released = submission.course.release_notebook(submission.lesson)
    notebook = own_notebook(released)
    exercises = [
        ExerciseReport(
            id=exercise,
            points=metadata(cell)["points"],
            score=None,
            outcome=Outcome.GRADER_ERROR,
            checks=[GRADER_ERROR],
        )
        for exercise, cell in graded_cells(notebook)
    ]
    points = sum(exercise.points for exercise in exercises)
    report = Report(lesson=submission.lesson, score=0.0, max_score=points, exercises=exercises)
    tracebacks = {"whole notebook": reason}
    return _attempt(submission, sha256, report, tracebacks, sandboxed=sandboxed), notebook


def _attempt(
    submission: Submission,
    sha256: str,
    report: Report,
    tracebacks: dict[str, str],
    *,
    sandboxed: bool,
    answers: Mapping[str, str] = MappingProxyType({}),
) -> Attempt:
    return Attempt(
        student=submission.student,
        lesson=submission.lesson,
        sha256=sha256,
        version=submission.version,
        graded_at=datetime.now(UTC),
        sandboxed=sandboxed,
        report=report,
        answers=dict(answers),
        checks=exercise_versions(submission.course, submission.lesson, submission.version),
        detail=describe_errors(tracebacks),
    )


def _grade(grader: "Grader", submission: Submission) -> tuple["GradedSubmission", dict[str, Any]]:
    """Return the graded submission, and the fields of its report that depend on its file."""
    try:
        path = submission.require_file()
        graded = grader.grade(submission.lesson, path, submission.settled)
    except SubmissionError as error:
        match error:
            case NothingSubmittedError():
                state = State.ABSENT
            case WrongFileError():
                state = State.WRONG_FILE
            case _:
                state = State.UNREADABLE
        nothing = grader.grade_broken(submission.lesson)
        return nothing, {"state": state, "reason": str(error), "repairs": []}
    repairs = [*submission.repairs(path), *graded.report.repairs]
    return graded, {"state": State.GRADED, "reason": "", "repairs": repairs}


def _is_possible(done: ExerciseReport) -> bool:
    """Return whether nbgrader reads a score as it is: finite, and within the points."""
    if done.score is None:
        return done.outcome.is_pending
    return math.isfinite(done.score) and 0 <= done.score <= done.points
