"""Builds the report of one exercise: what it ended in, what it scores, and what the student reads."""

from collections.abc import Sequence

from autograder.grading.runner import ExerciseRun, describe_end
from autograder.grading.shown_example import shown_example
from autograder.model.errors import RunEndedError, RunTimedOutError
from autograder.model.exercise import Exercise, Mistake
from autograder.model.report import GRADER_ERROR, CheckReport, ExerciseReport, NamedMistake, Outcome
from autograder.submissions.align import Part
from coursework.engine.exceptions import Cell, say_raised
from coursework.engine.observation import Raised
from coursework.source_rules import Refusal

OUT_OF_TIME = "Not run: the notebook as a whole took longer than {seconds:g} seconds."


def without_running(exercise: Exercise, part: Part | None) -> ExerciseReport | None:
    """Return the report of an answer that is missing, untouched or written; None for any other."""
    if part is None or part.missing:
        return _report(exercise, Outcome.MISSING, 0.0)
    if part.unanswered:
        return _report(exercise, Outcome.UNANSWERED, 0.0)
    if exercise.written:
        return _report(exercise, Outcome.NEEDS_MARKING, None)
    return None


def cell_ended(exercise: Exercise, ending: RunEndedError, seconds: float) -> ExerciseReport:
    """Return the report of a cell that ended the process by being run, given `seconds` for it."""
    outcome = Outcome.TIMEOUT if isinstance(ending, RunTimedOutError) else Outcome.CRASHED
    message = describe_end(ending, seconds)
    return _report(exercise, outcome, 0.0, [_failed("runs", "the cell runs", message)])


def cell_raised(exercise: Exercise, raised: Raised, source: str) -> ExerciseReport:
    """Return the report of a cell that raised an exception before it defined the answer.

    The exception is put into words like one of a check: the probes of earlier exercises could have
    left something for this cell to say.
    """
    said = say_raised(raised, Cell(source, frozenset([exercise.name])))
    check = _failed("runs", "the cell runs", said)
    return _report(exercise, Outcome.ERROR, 0.0, [check])


def not_allowed(exercise: Exercise, refusal: Refusal) -> ExerciseReport:
    """Return the report of an answer whose text is not run, because its exercise excludes functions."""
    assert exercise.excludes is not None
    if refusal.derivative:
        advice = f"Write this exercise without one. {exercise.excludes.instead}"
    else:
        advice = "Write this exercise with ordinary tensor operations."
    message = f"{refusal.place} {refusal.what}. {advice}"
    report = _report(
        exercise, Outcome.FAILED, 0.0, [_failed(c.id, c.title, message) for c in exercise.checks]
    )
    title = f"The answer {refusal.what}"
    named = NamedMistake(id="not-allowed", title=title, hint=exercise.excludes.instead)
    return report.model_copy(update={"misconceptions": [named]})


def out_of_time(exercise: Exercise, seconds: float) -> ExerciseReport:
    """Return the report of an exercise that was not reached within the notebook's `seconds`."""
    message = OUT_OF_TIME.format(seconds=seconds)
    check = _failed("runs", "the notebook runs in time", message)
    return _report(exercise, Outcome.TIMEOUT, 0.0, [check])


def grader_fault(exercise: Exercise) -> ExerciseReport:
    """Return the report of an exercise that the grader failed on, which leaves it to be graded by hand."""
    return _report(exercise, Outcome.GRADER_FAULT, None, [GRADER_ERROR])


def graded(lesson: str, exercise: Exercise, run: ExerciseRun, mistakes: Sequence[Mistake]) -> ExerciseReport:
    """Return the report of an exercise whose checks were run, with the mistakes that were found."""
    return ExerciseReport(
        id=exercise.id,
        points=exercise.points,
        score=run.score,
        outcome=run.outcome,
        checks=run.checks,
        misconceptions=[NamedMistake(id=m.id, title=m.title, hint=m.hint) for m in mistakes],
        example=shown_example(lesson, exercise, run.examples),
    )


def _report(
    exercise: Exercise, outcome: Outcome, score: float | None, checks: Sequence[CheckReport] = ()
) -> ExerciseReport:
    return ExerciseReport(
        id=exercise.id, points=exercise.points, score=score, outcome=outcome, checks=list(checks)
    )


def _failed(check_id: str, title: str, message: str) -> CheckReport:
    return CheckReport(id=check_id, title=title, passed=False, message=message)
