"""`check()`: the lesson at a glance, each exercise with its state, and what is next."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coursework.instant.card import template
from coursework.instant.exercises import (
    DONE,
    FILLED,
    OPEN,
    WRONG,
    PublicExercise,
    every_exercise,
    exercises_of,
)
from coursework.instant.notebook import card_for
from coursework.instant.runs import CellRuns

SETTLED = (DONE, FILLED)
RIGHT = "right on its examples"
HAND_IN = "To hand in: save the notebook (Ctrl+S), then run `hand_in()` in a cell of its own."
TO_RUN = "its cell has not run since the kernel started"


@dataclass(frozen=True)
class ExerciseState:
    """Where one exercise stands: a mark, and a few words."""

    exercise: PublicExercise
    mark: str
    words: str

    @property
    def cost(self) -> str:
        """The points and the minutes, as in "2 points, 10 minutes"."""
        exercise = self.exercise
        return f"{exercise.worth}, {exercise.minutes} minutes" if exercise.minutes else exercise.worth


@dataclass(frozen=True)
class Glance:
    """The exercises of a lesson with their states."""

    lesson: str
    states: Sequence[ExerciseState]

    @property
    def passed(self) -> bool:
        """Whether every exercise that counts is done."""
        return all(state.mark in SETTLED for state in self.states if state.exercise.points)

    @property
    def headline(self) -> str:
        """How much is done."""
        done = sum(state.exercise.points for state in self.states if state.mark in SETTLED)
        total = sum(state.exercise.points for state in self.states)
        return f"Exercises worth {done:g} of {total:g} points are done. Grading uses other sizes and numbers."

    @property
    def next(self) -> str:
        """What to do next."""
        left = [state for state in self.states if state.mark not in SETTLED and state.exercise.points]
        if not left:
            return "Everything that counts is done."
        waiting = [state for state in left if state.words == TO_RUN]
        minutes = sum(state.exercise.minutes for state in left if state not in waiting)
        more = f" About {minutes} minutes of exercises are left." if minutes else ""
        if waiting:
            return f"Next: run the cells that have not run, with Run > Run All Cells.{more}"
        return f"Next: {left[0].exercise.called}.{more}"

    @property
    def html(self) -> str:
        """The table as HTML without scripts, for light and dark pages."""
        return template("glance.html.j2").render(glance=self, hand_in=HAND_IN)

    @property
    def text(self) -> str:
        """The table as plain text."""
        rows = [f"{each.mark} {each.exercise.called} ({each.cost}): {each.words}" for each in self.states]
        return "\n".join([f"{self.lesson}: {self.headline}", *rows, self.next, HAND_IN])

    def _ipython_display_(self) -> None:
        """Do nothing: `check` has displayed it already, also as the last line of a cell."""


def glance(file: Path, names: Mapping[str, Any], runs: CellRuns | None) -> Glance:
    """Return the lesson of a notebook at a glance."""
    return Glance(
        file.stem, [ExerciseState(each, *_state(each, names, runs)) for each in exercises_of(file.stem)]
    )


def _state(exercise: PublicExercise, names: Mapping[str, Any], runs: CellRuns | None) -> tuple[str, str]:
    """Return the mark of an exercise, and its state in a few words."""
    if runs and runs.is_skipped(exercise):
        return OPEN, "skipped: grading reads its cell as it stands"
    if runs and runs.has_yet_to_run(exercise):
        return OPEN, TO_RUN
    if not exercise.written and (runs.is_unwritten(exercise) if runs else exercise.name not in names):
        return OPEN, "not written yet"
    if runs and not exercise.written and exercise.name not in names:
        return OPEN, runs.undefined(exercise).replace("`", "")
    return _as_checked(exercise, names, runs)


def _as_checked(exercise: PublicExercise, names: Mapping[str, Any], runs: CellRuns | None) -> tuple[str, str]:
    """Return what `check` says of an exercise, in a few words."""
    card = card_for(exercise.id, names)
    if card.waits_for:
        first = next(each for each in every_exercise() if each.name == card.waits_for)
        to_do = "fix that first"
        if runs and runs.is_unwritten(first):
            to_do = "run its cell first" if runs.has_yet_to_run(first) else "write that first"
        return OPEN, f"{card.headline.removesuffix('.')}: {to_do}"
    if card.mark in (FILLED, OPEN):
        return card.mark, card.headline.removesuffix(".")
    return (DONE, RIGHT) if card.passed else (WRONG, f"not right yet: check({exercise.name}) says why")
