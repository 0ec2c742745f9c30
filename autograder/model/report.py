"""The results of grading: outcomes, checks, named mistakes, incidents, and a report of them all.

`autograder check --json` prints these documents, the log of attempts stores them, and every page is
made from them. Their fields and values are a fixed interface.
"""

from enum import StrEnum

from pydantic import BaseModel, ConfigDict


class Outcome(StrEnum):
    """How an exercise of a submission ended: exactly one of these."""

    PASSED = "passed"
    FAILED = "failed"
    UNANSWERED = "unanswered"
    ERROR = "error"
    TIMEOUT = "timeout"
    CRASHED = "crashed"
    MISSING = "missing"
    NEEDS_MARKING = "needs-marking"
    GRADER_FAULT = "grader-fault"

    @property
    def is_open(self) -> bool:
        """Whether the score is to be given by hand: a written answer, or a grader error."""
        return self in (Outcome.NEEDS_MARKING, Outcome.GRADER_FAULT)


class Document(BaseModel):
    """An immutable, strict JSON document."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class CheckReport(Document):
    """The result of one check; students read its title and message."""

    id: str
    title: str
    passed: bool
    message: str = ""


# One fixed sentence: what went wrong inside the grader may quote the model answer.
GRADER_ERROR = CheckReport(
    id="grader",
    title="The autograder could grade this exercise",
    passed=False,
    message="The autograder failed here. This is not your fault: your answer will be graded by hand.",
)


class NamedMistake(Document):
    """A known mistake that explains the results."""

    id: str
    title: str
    hint: str = ""


class Incident(Document):
    """An attempt to interfere, as evidence for the instructor; never a penalty by itself."""

    exercise: str | None
    kind: str
    message: str


class ExerciseReport(Document):
    """One exercise of one submission. `score` is None if it is to be given by hand."""

    id: str
    points: float
    score: float | None
    outcome: Outcome
    checks: list[CheckReport] = []
    misconceptions: list[NamedMistake] = []

    @property
    def failures(self) -> list[CheckReport]:
        """The checks that did not pass."""
        return [check for check in self.checks if not check.passed]


class Report(Document):
    """One graded submission."""

    lesson: str
    score: float
    max_score: float
    exercises: list[ExerciseReport]
    repairs: list[str] = []
    incidents: list[Incident] = []

    def exercise(self, exercise_id: str) -> ExerciseReport:
        """Return the report of one exercise. Raises KeyError if the lesson has none of that id."""
        for report in self.exercises:
            if report.id == exercise_id:
                return report
        raise KeyError(exercise_id)

    def open_exercises(self) -> list[ExerciseReport]:
        """Return the exercises whose score is to be given by hand."""
        return [report for report in self.exercises if report.outcome.is_open]
