"""What an exercise scores and ended in, and its report: what the student reads of it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from autograder.judge.oracle import Evidence, excluded_calls
from autograder.model.errors import RunEndedError, RunOutOfTimeError, RunTimedOutError, RunWaitedError
from autograder.model.exercise import Exercise, Mistake
from autograder.model.report import (
    GRADER_ERROR,
    CheckReport,
    ExampleReport,
    ExerciseReport,
    NamedMistake,
    Outcome,
)
from autograder.submissions.align import Part
from coursework.engine.draw import Table, as_text
from coursework.engine.examples import find
from coursework.engine.exceptions import StudentCell, say_raised
from coursework.engine.observation import Observation, Raised
from coursework.engine.operation import Operation
from coursework.instant.card import card_of
from coursework.instant.sources import ORDINARY
from coursework.source_rules import Refusal

SCORE_STEP = 0.25
TIMED_OUT = (
    "Your code did not finish within {seconds:g} seconds of processor time. Is there a loop that never ends?"
)
WAITED = (
    "Your code did not come back within {seconds:g} seconds. Is there a loop that never ends, or does it "
    "wait for something, such as `time.sleep()`?"
)
CRASHED = "Your code ended the whole Python process here. Does it call `exit()`, or use too much memory?"
OUT_OF_TIME = (
    "Your code was stopped here, because the notebook as a whole had used up its time. Is there "
    "another cell that takes very long?"
)
NOT_REACHED = "Not run: the notebook as a whole took longer than {seconds:g} seconds."
MOST_TABLES, MOST_CHARACTERS = 6, 1500


def describe_end(ending: RunEndedError, seconds: float) -> str:
    """Return what to tell a student whose code, given `seconds`, ended its process."""
    if isinstance(ending, RunOutOfTimeError):
        return OUT_OF_TIME
    if isinstance(ending, RunWaitedError):
        return WAITED.format(seconds=seconds)
    return TIMED_OUT.format(seconds=seconds) if isinstance(ending, RunTimedOutError) else CRASHED


@dataclass
class CheckResults:
    """The results of all checks of an exercise, and what was seen with one set of earlier parts."""

    exercise: Exercise
    checks: list[CheckReport] = field(default_factory=list)
    evidence: list[Evidence] = field(default_factory=list)
    endings: list[RunEndedError] = field(default_factory=list)
    changing: list[str] = field(default_factory=list)
    examples: list[Observation] = field(default_factory=list)

    @property
    def perfect(self) -> bool:
        """Whether every check passed."""
        return len(self.checks) == len(self.exercise.checks) and all(c.passed for c in self.checks)

    @property
    def failed(self) -> set[str]:
        """The ids of the checks that failed."""
        return {check.id for check in self.checks if not check.passed}

    @property
    def timed_out(self) -> bool:
        """Whether some check did not end in time."""
        return any(isinstance(ending, RunTimedOutError) for ending in self.endings)

    @property
    def undefined(self) -> bool:
        """Whether no check passed, and the name or a part that the exercise asks for is missing."""
        raised = [item.got.raised for item in self.evidence]
        missing = any(each is not None and each.structural for each in raised)
        return missing and not any(check.passed for check in self.checks)

    @property
    def called_excluded(self) -> bool:
        """Whether a function was called that the exercise excludes."""
        return any(excluded_calls(self.exercise, item.got) for item in self.evidence)

    @property
    def score(self) -> float:
        """The points earned: the share of the weights that passed, rounded down to a quarter."""
        return math.floor(self.exercise.points * self.share / SCORE_STEP + 1e-9) * SCORE_STEP

    @property
    def share(self) -> float:
        """The share of the weights that passed, from 0 to 1."""
        weights = [check.weight for check in self.exercise.checks]
        passed = (w for w, check in zip(weights, self.checks, strict=True) if check.passed)
        return sum(passed) / sum(weights)

    @property
    def merit(self) -> float:
        """What the better of two runs has more of: points, or without any the share that passed."""
        return self.score if self.exercise.points else self.share

    @property
    def outcome(self) -> Outcome:
        """How the exercise ended."""
        if self.perfect:
            return Outcome.PASSED
        if self.endings:
            return Outcome.TIMEOUT if self.timed_out else Outcome.CRASHED
        failed = [item for item in self.evidence if item.check.id in self.failed]
        return Outcome.ERROR if all(map(self._raised, failed)) else Outcome.FAILED

    def _raised(self, item: Evidence) -> bool:
        """Return whether the student's code raised by itself: no part was missing, and none refused."""
        raised = item.got.raised and not item.got.raised.structural
        return bool(raised) and not excluded_calls(self.exercise, item.got)


def without_running(exercise: Exercise, part: Part | None) -> ExerciseReport | None:
    """Return the report of an answer that is missing, untouched or written; None for any other."""
    if part is None or part.missing:
        return _report(exercise, Outcome.MISSING, 0.0)
    if part.unanswered:
        return _report(exercise, Outcome.UNANSWERED, 0.0)
    if exercise.written:
        return _report(exercise, Outcome.BY_HAND, None)
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
    said = say_raised(raised, StudentCell(source, frozenset([exercise.name])))
    check = _failed("runs", "the cell runs", said)
    return _report(exercise, Outcome.ERROR, 0.0, [check])


def not_allowed(exercise: Exercise, refusal: Refusal) -> ExerciseReport:
    """Return the report of an answer whose text is not run, because its exercise excludes functions."""
    assert exercise.excludes is not None
    if refusal.derivative:
        advice = f"Write this exercise without one. {exercise.excludes.instead}"
    else:
        advice = ORDINARY
    message = f"{refusal.place} {refusal.what}. {advice}"
    report = _report(
        exercise, Outcome.FAILED, 0.0, [_failed(c.id, c.title, message) for c in exercise.checks]
    )
    title = f"The answer {refusal.what}"
    named = NamedMistake(id="not-allowed", title=title, hint=exercise.excludes.instead)
    return report.model_copy(update={"misconceptions": [named]})


def out_of_time(exercise: Exercise, seconds: float) -> ExerciseReport:
    """Return the report of an exercise that was not reached within the notebook's `seconds`."""
    message = NOT_REACHED.format(seconds=seconds)
    check = _failed("runs", "the notebook runs in time", message)
    return _report(exercise, Outcome.TIMEOUT, 0.0, [check])


def grader_error(exercise: Exercise) -> ExerciseReport:
    """Return the report of an exercise that the grader failed on, which leaves it to be graded by hand."""
    return _report(exercise, Outcome.GRADER_ERROR, None, [GRADER_ERROR])


def graded(lesson: str, exercise: Exercise, run: CheckResults, mistakes: Sequence[Mistake]) -> ExerciseReport:
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


def operations(lesson: str, exercise: Exercise) -> list[Operation]:
    """Return what an exercise's public examples do with an answer; nothing if it has none."""
    found = find(exercise.id, lesson)
    return [example.operation for example in found.examples] if found else []


def shown_example(lesson: str, exercise: Exercise, got: Sequence[Observation]) -> ExampleReport | None:
    """Return the smallest example that came out wrong; None if all were right, or not all were tried.

    Of an exception, the message is left out: it may be the student's own.
    """
    examples = find(exercise.id, lesson)
    if examples is None or len(got) != len(examples.examples):
        return None
    card = card_of(examples, [_without_message(seen) for seen in got])
    if card.example is None:
        return None
    inputs = "\n".join(f"{name} =\n{_text(parts)}" for name, parts in card.example.inputs)
    return ExampleReport(
        call=card.example.call,
        inputs=inputs[:MOST_CHARACTERS],
        yours=_text(card.example.yours),
        expected=_text(card.example.expected),
        pictures=card.pictures,
    )


def _without_message(seen: Observation) -> Observation:
    return replace(seen, raised=replace(seen.raised, message="")) if seen.raised else seen


def _text(tables: Sequence[Table]) -> str:
    return "\n".join(map(as_text, tables[:MOST_TABLES]))[:MOST_CHARACTERS]
