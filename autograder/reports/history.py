"""What a student's attempts at a lesson earned, and what changed from one to the next."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from autograder.model.report import ExerciseReport, Report
from autograder.reports.words import points
from autograder.storage.attempts import Attempt


@dataclass(frozen=True)
class Change:
    """An exercise whose score differs from that of the attempt before."""

    exercise: str
    before: float | None
    after: float | None

    @property
    def went_up(self) -> bool:
        """Whether the later score is the higher one; pending points are not."""
        return self.before is not None and self.after is not None and self.after > self.before

    def __str__(self) -> str:
        """Return "1.5 → 3"."""
        return f"{points(self.before)} → {points(self.after)}"


@dataclass(frozen=True)
class Step:
    """One attempt of a student at a lesson, its number, and what changed since the one before."""

    number: int
    attempt: Attempt
    changes: tuple[Change, ...]


def steps(attempts: Iterable[Attempt]) -> list[Step]:
    """Return a student's attempts at one lesson, oldest first.

    The same file graded again, as after a change to the grader, is one attempt: the newest counts.
    """
    distinct: list[Attempt] = []
    for attempt in attempts:
        if distinct and distinct[-1].sha256 == attempt.sha256:
            distinct.pop()
        distinct.append(attempt)
    reports = [None, *(attempt.report for attempt in distinct)]
    return [
        Step(number, attempt, tuple(changes(reports[number - 1], attempt.report)))
        for number, attempt in enumerate(distinct, start=1)
    ]


def changes(before: Report | None, after: Report) -> Sequence[Change]:
    """Return the exercises whose scores differ, in the lesson's order; none if either was not graded."""
    if before is None or not before.is_graded or not after.is_graded:
        return []
    old = {exercise.id: exercise for exercise in before.exercises}
    return [
        Change(exercise.id, old[exercise.id].score, exercise.score)
        for exercise in after.exercises
        if exercise.id in old and _differ(old[exercise.id], exercise)
    ]


def _differ(old: ExerciseReport, new: ExerciseReport) -> bool:
    return points(old.score) != points(new.score)
