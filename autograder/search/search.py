"""Tries changes of an answer, the likeliest first, until every check passes.

Very many changes are tried, one after the other, in one fork: each is asked the cheapest question that the
answer got wrong, then the others that it got wrong. What passes all of those is proved in a fork of its own,
against every check. Nothing that a change leads to is ever told, besides its place and its kind.

The order is fixed, and so are the limits in number. The limit in processor time is the same on a busy machine
and on an idle one, but for what caches and clocks do to it.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import Final

from autograder.judge.oracle import Oracle, judge_check
from autograder.model.errors import RunEndedError
from autograder.model.exercise import Check, Exercise, TestInput
from autograder.sandbox.run import Probe, Trial
from coursework.edits.cell import Edit
from coursework.engine.describe import Comparison
from coursework.engine.observe import observed

SECONDS: Final = 2.0  # of processor time, for one exercise
MOST_TRIED: Final = 6000  # changes
MOST_PROVED: Final = 12  # changes that are tried on every check
MOST_ENDINGS: Final = 15  # forks that a change may end
BATCH: Final = 32  # changes, before those that passed are asked more
MARGIN: Final = 0.7  # by how much a change may cost more than the first that was found
FEWEST_SECONDS: Final = 0.1  # what a change may take, besides some times what the answer itself takes
TIMES_ITS_OWN: Final = 3.0
LONGEST_SECONDS: Final = 1.0

Question = tuple[Check, TestInput]


@dataclass(frozen=True)
class World:
    """Where changes are tried: what runs before the answer is in place there.

    `open_probe` forks a process in which the answer's cell has not run; RunEndedError if it cannot.
    `prove` runs every check on a cell in a fork of its own, and returns whether all passed. `seconds` is the
    processor time that both have taken so far.
    """

    open_probe: Callable[[], Probe]
    prove: Callable[[str], bool]
    seconds: Callable[[], float]


@dataclass(frozen=True)
class Found:
    """A change with which every check passes, and the whole cell with it."""

    edit: Edit
    source: str


class Search:
    """The search for changes of one answer, whose `failed` checks are known."""

    def __init__(
        self, oracle: Oracle, exercise: Exercise, world: World, failed: set[str], limit: float = SECONDS
    ) -> None:
        self._exercise, self._world, self._limit = exercise, world, limit
        self._expected = {
            check.id: oracle.expected(exercise, check, oracle.test_input(exercise, check))
            for check in exercise.checks
            if check.id in failed
        }
        self._probe: Probe | None = None
        self._for_one = LONGEST_SECONDS
        self._endings = self.tried = self.proved = 0
        self._began = self._seconds()
        asked = [
            (check, oracle.test_input(exercise, check)) for check in exercise.checks if check.id in failed
        ]
        self._asked = sorted(asked, key=lambda each: len(self._trial(each, "").frame))

    def find(self, source: str, edits: Sequence[Edit]) -> list[Found]:
        """Return the changes with which every check passes, the likeliest first; none if none was found.

        Those that cost much more than the first are not looked for.
        """
        found: list[Found] = []
        try:
            if self._asked and not self._passes_as_it_is(source):
                for change in self._survivors(source, edits):
                    if found and change.edit.cost > found[0].edit.cost + MARGIN:
                        break
                    self.proved += 1
                    if self._world.prove(change.source):
                        found.append(change)
                    if self.proved >= MOST_PROVED or self._is_over():
                        break
        except RunEndedError:  # of a run as a whole: what was proved before stands
            pass
        finally:
            self._close()
        return found

    def _passes_as_it_is(self, source: str) -> bool:
        """Return whether the answer passes here what it failed before; note how long it takes if not.

        Then the reason is not in this cell alone, and no change of it would say anything.
        """
        before = self._world.seconds()
        passed = self._passes(source, self._asked)
        taken = self._world.seconds() - before
        self._for_one = min(LONGEST_SECONDS, FEWEST_SECONDS + TIMES_ITS_OWN * taken)
        return passed

    def _survivors(self, source: str, edits: Sequence[Edit]) -> Iterator[Found]:
        """Yield the changes that pass every check that the answer failed."""
        for start in range(0, min(len(edits), MOST_TRIED), BATCH):
            batch = [Found(edit, edit.apply(source)) for edit in edits[start : start + BATCH]]
            answers = [*self._answers([each.source for each in batch], self._asked[0])]
            for each, passes in zip(batch, answers, strict=False):
                if passes and self._passes(each.source, self._asked[1:]):
                    yield each
            if self._is_over():
                return

    def _passes(self, cell: str, questions: Sequence[Question]) -> bool:
        return all(next(self._answers([cell], question), False) for question in questions)

    def _answers(self, cells: Sequence[str], question: Question) -> Iterator[bool]:
        """Yield whether each cell passes a check. One that ends the process does not."""
        left = [*cells]
        while left and not self._is_over():
            if self._probe is None or not self._probe.ready:
                self._probe = self._world.open_probe()
            trials = [self._trial(question, cell) for cell in left]
            try:
                with closing(self._probe.observe_all(trials)) as answers:
                    for seen in answers:
                        left.pop(0)
                        self.tried += 1
                        check, asked = question
                        got = observed(asked.operation, seen)
                        asked_and_got = Comparison(asked.operation, got, self._expected[check.id])
                        yield judge_check(self._exercise, check, asked_and_got).passed
            except RunEndedError:
                self._endings += 1
                self._probe = None
                left.pop(0)
                yield False

    def _trial(self, question: Question, cell: str) -> Trial:
        check, asked = question
        seconds = min(check.seconds, self._for_one)
        return Trial(asked.operation, self._exercise.name, asked.seed, seconds, cell)

    def _is_over(self) -> bool:
        return self._endings >= MOST_ENDINGS or self._seconds() - self._began > self._limit

    def _seconds(self) -> float:
        return self._world.seconds() + time.process_time()

    def _close(self) -> None:
        if self._probe is not None:
            with suppress(RunEndedError):
                self._probe.close()
