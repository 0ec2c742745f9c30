"""Finds the lines to blame in the answers of one submission, once it is graded."""

import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Final

from autograder.grading.runner import ExerciseRunner
from autograder.judge.oracle import Oracle
from autograder.model.exercise import Exercise
from autograder.model.nbgrader_config import SEARCH_SECONDS
from autograder.model.report import ExerciseReport, Outcome, WrongLines
from autograder.sandbox.client import WarmProcess
from autograder.sandbox.run import Probe, Run
from autograder.search.donors import donor_edits
from autograder.search.places import told
from autograder.search.search import Found, Search, World
from coursework.edits.cell import Cell, Edit, distinct
from coursework.edits.generic import everywhere, generic_edits
from coursework.source_rules import first_refusal

RUNS: Final = "runs"  # what is told of a cell that raised
PREPARE_SECONDS: Final = 5.0  # of processor time, for the cells before an answer


def wants_lines(exercise: Exercise, done: ExerciseReport) -> bool:
    """Return whether an answer's lines are looked for: it was run, it failed, and nothing was found yet."""
    return done.may_have_lines and bool(failed_checks(exercise, done))


def failed_checks(exercise: Exercise, done: ExerciseReport) -> set[str]:
    """Return the ids of the checks that failed: all, where the answer's own cell did not run."""
    ids = {check.id for check in exercise.checks}
    if done.outcome is Outcome.ERROR and [check.id for check in done.checks] == [RUNS]:
        return ids
    return ids & {check.id for check in done.failures}


@dataclass
class LineFinder:
    """Looks for changes of answers, each tried with right earlier parts and the helpers that it needs.

    A search takes at most some `seconds` of processor time, and all end by the `deadline`. `counts` says how
    many changes the last search tried, and how many it proved.
    """

    oracle: Oracle
    warm: WarmProcess
    deadline: float
    seconds: float = SEARCH_SECONDS
    counts: dict[str, int] = field(default_factory=dict)

    def told(
        self, exercise: Exercise, failed: set[str], helpers: Sequence[str], source: str
    ) -> tuple[list[WrongLines], str]:
        """Return the lines to tell of one answer, and the change that tells them.

        `helpers` are the cells before the answer that it needs, as they are run when it is graded alone.
        """
        if time.monotonic() > self.deadline:
            return [], ""
        return told(self.find(exercise, failed, helpers, source), source)

    def find(self, exercise: Exercise, failed: set[str], helpers: Sequence[str], source: str) -> list[Found]:
        """Return the changes of an answer's cell with which every check passes, the likeliest first."""
        try:
            cell = Cell(source)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return []
        with ExitStack() as runs:
            scanning = runs.enter_context(self.warm.run(self.deadline))
            proving = runs.enter_context(self.warm.run(self.deadline))
            world = World(
                lambda: self._probe(scanning, exercise, helpers),
                lambda changed: self._prove(proving, exercise, [*helpers, changed]),
                lambda: scanning.seconds + proving.seconds,
            )
            search = Search(self.oracle, exercise, world, failed, self.seconds)
            found = search.find(source, *self._edits(exercise, cell))
        self.counts = {"tried": search.tried, "proved": search.proved}
        return found

    @staticmethod
    def _edits(exercise: Exercise, cell: Cell) -> tuple[list[Edit], list[tuple[Edit, ...]], list[Edit]]:
        """Return the changes to try, those to try together, and those that make the cell a right answer."""
        single, script = donor_edits(cell, Cell(exercise.answer))
        generic = generic_edits(cell)
        return distinct([*single, *generic], cell.source), [*everywhere(generic, cell)], script

    def _probe(self, run: Run, exercise: Exercise, helpers: Sequence[str]) -> Probe:
        excluded = exercise.excludes.names if exercise.excludes else ()
        stand_ins = self.oracle.stand_ins(exercise)
        # the empty cell puts the right parts in place again after the helpers
        return run.probe(PREPARE_SECONDS, stand_ins, [*helpers, ""], self.oracle.lesson.name, excluded)

    def _prove(self, run: Run, exercise: Exercise, cells: Sequence[str]) -> bool:
        if exercise.excludes and first_refusal(cells, derivatives=exercise.excludes.derivatives):
            return False
        stand_ins = self.oracle.stand_ins(exercise)
        with ExerciseRunner(self.oracle, exercise, run, lambda: False, cells[-1], stand_ins, cells) as runner:
            return runner.run().perfect
