"""What the first screen of a feedback page says: how it went, and what to do now."""

from collections.abc import Sequence
from dataclasses import dataclass

from autograder.model.report import ExerciseReport, Outcome, Report, State
from autograder.reports.words import STATES, is_full, points

LEFT_OUT = (Outcome.UNANSWERED, Outcome.MISSING)
IF_THAT_FAILS = {
    State.UNREADABLE: "If it doesn't open there either, start from a fresh copy of the lesson and paste "
    "your answers into it.",
    State.ABSENT: "If you did hand something in, ask your instructor where it went.",
}
NOTHING_ANSWERED = "No exercise has an answer yet, so there was nothing to grade."


@dataclass(frozen=True)
class Standing:
    """How the exercises that count ended: those that are correct, to fix, and pending."""

    correct: Sequence[ExerciseReport]
    to_fix: Sequence[ExerciseReport]
    by_hand: Sequence[ExerciseReport]
    pending: Sequence[ExerciseReport]

    @property
    def is_empty(self) -> bool:
        """Whether the student answered nothing at all."""
        nothing = all(each.outcome in LEFT_OUT for each in self.to_fix)
        return bool(self.to_fix) and nothing and not (self.correct or self.by_hand or self.pending)

    @property
    def graded(self) -> int:
        """How many exercises have a score."""
        return len(self.correct) + len(self.to_fix) + len(self.by_hand)

    @property
    def full(self) -> int:
        """How many exercises earned all of their points."""
        return len(self.correct) + sum(map(is_full, self.by_hand))


def standing(report: Report) -> Standing:
    """Return how the exercises that count ended."""
    counted = [each for each in report.exercises if not each.is_stretch]
    graded = [each for each in counted if not each.is_pending]
    machine = [each for each in graded if not each.outcome.is_pending]
    return Standing(
        correct=[each for each in machine if each.outcome is Outcome.PASSED],
        to_fix=[each for each in machine if each.outcome is not Outcome.PASSED],
        by_hand=[each for each in graded if each.outcome.is_pending],
        pending=[each for each in counted if each.is_pending],
    )


def headline(report: Report) -> str:
    """Return one sentence on how it went."""
    if not report.is_graded:
        return f"{STATES[report.state].sentence.partition('. ')[0].rstrip('.')}."
    found = standing(report)
    if found.is_empty:
        return NOTHING_ANSWERED
    if not found.graded:
        return "Nothing has been graded yet."
    plural = "" if found.graded == 1 else "s"
    which = f"{'graded ' if found.pending else ''}exercise{plural}"
    if found.full == found.graded:
        return f"All {found.graded} {which} correct. Well done."
    return f"{found.full} of {found.graded} {which} correct."


def how_to_hand_in(state: State) -> str:
    """Return what to do about a submission that could not be graded."""
    advice = STATES[state].sentence.partition(". ")[2]
    return f"{advice} {IF_THAT_FAILS.get(state, '')}".strip()


def what_is_pending(report: Report) -> str:
    """Return who grades the rest, and that it costs nothing until then; empty if nothing is pending."""
    if not report.pending:
        return ""
    count = len(report.pending_exercises())
    what = "1 answer" if count == 1 else f"{count} answers"
    unit = "point" if report.pending == 1 else "points"
    return (
        f"Your instructor grades {what} by hand. Until then, {points(report.pending)} {unit} "
        "count neither for you nor against you."
    )


def first_to_fix(report: Report) -> ExerciseReport | None:
    """Return the exercise to begin with: the first of the lesson, since later ones build on it."""
    to_fix = standing(report).to_fix
    tried = [each for each in to_fix if each.outcome not in LEFT_OUT]
    return next(iter([*tried, *to_fix]), None)


def left_to_earn(exercise: ExerciseReport) -> str:
    """Return how many points an exercise still has to give: "3.75 points to gain"."""
    left = exercise.points - (exercise.score or 0.0)
    return f"{points(left)} point{'' if left == 1 else 's'} to gain"
