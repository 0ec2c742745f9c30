"""What marking says: outcomes, checks, named mistakes, incidents, and a report of them all.

These are the documents that `autograder check --json` prints, that the log of attempts keeps and
that every page is drawn from. Fields and outcomes are fixed by the lesson contract.
"""

from collections.abc import Iterator
from enum import StrEnum

from pydantic import BaseModel, ConfigDict


class Outcome(StrEnum):
    """How an exercise ended: exactly one of these for every exercise of every submission."""

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
    def waits_for_a_person(self) -> bool:
        """Whether the score is left open: a written answer, or a fault of ours."""
        return self in (Outcome.NEEDS_MARKING, Outcome.GRADER_FAULT)


class Document(BaseModel):
    """An immutable, strict JSON document."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class CheckReport(Document):
    """One check's verdict. The title is the sentence the student reads."""

    id: str
    title: str
    passed: bool
    message: str = ""


class NamedMistake(Document):
    """A misconception that explains what was seen."""

    id: str
    title: str
    hint: str = ""


class Incident(Document):
    """An attempt to interfere, as evidence for a person; never a penalty by itself."""

    exercise: str | None
    kind: str
    message: str


class ExerciseReport(Document):
    """One exercise of one submission. `score` is None while it waits for a person."""

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
    """One marked submission."""

    lesson: str
    score: float
    max_score: float
    exercises: list[ExerciseReport]
    repairs: list[str] = []
    incidents: list[Incident] = []

    def exercise(self, exercise_id: str) -> ExerciseReport:
        """Return the report of one exercise; KeyError where the lesson has none of that id."""
        for report in self.exercises:
            if report.id == exercise_id:
                return report
        raise KeyError(exercise_id)

    def waiting(self) -> Iterator[ExerciseReport]:
        """Yield the exercises whose score a person has yet to give."""
        return (report for report in self.exercises if report.outcome.waits_for_a_person)
