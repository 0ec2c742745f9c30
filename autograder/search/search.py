"""Tries changes of an answer, the likeliest first, until every check passes.

Very many changes are tried, one after the other, in one fork: each is asked the cheapest question that the
answer got wrong, then the others that it got wrong. What passes all of those is proved in a fork of its own,
against every check. Nothing that a change leads to is ever told, besides its place and its kind.

The order is fixed, and so are the limits in number. The limit in processor time is the same on a busy machine
and on an idle one, but for what caches and clocks do to it.
"""

import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any, Final

from autograder.judge.oracle import Oracle, judge_check
from autograder.model.errors import RunEndedError
from autograder.model.exercise import Check, Exercise, TestInput
from autograder.sandbox.run import Probe, Request
from autograder.search.distance import ENDED, RIGHT, distance, is_nearer
from coursework.edits.cell import MISSING, CodeEdit
from coursework.edits.places import MARGIN, MOST_AFTER, CodeChange, combined, vagueness
from coursework.engine.describe import Comparison
from coursework.engine.observation import Raised
from coursework.engine.observe import observed

MOST_TRIED: Final = 6000  # changes
MOST_ASKED: Final = 5  # checks that the answer fails again, before any change is tried
MOST_PROVED: Final = 30  # changes that are tried on every check
MOST_ENDINGS: Final = 30  # forks that a change may end
SHARE_OF_SINGLES: Final = 0.7  # of the time, before any two edits are tried together, but for the likeliest
SHARE_OF_KNOWN: Final = 0.6  # for two edits where two known mistakes seem to be
MOST_KNOWN: Final = 60  # edits where one of them seems to be
MOST_TOGETHER: Final = 2  # places that are told together
MOST_HALVES: Final = 10  # edits that mend a part, and are tried with others
MOST_IN_A_PLACE: Final = 2  # of them
MOST_BESIDE: Final = 250  # edits that are tried with each of those
MOST_PAIRED: Final = 160  # edits that are tried with each other
BATCH: Final = 32  # changes, before those that passed are asked more
FEWEST_SECONDS: Final = 0.1  # what a change may take, besides some times what the answer itself takes
TIMES_ITS_OWN: Final = 3.0
LONGEST_SECONDS: Final = 1.0
LACKING: Final = frozenset(  # exceptions whose line says all
    ("NameError", "ModuleNotFoundError", "FileNotFoundError", "PermissionError")
)

Question = tuple[Check, TestInput]


@dataclass(frozen=True)
class Further:
    """What is tried of an answer later: single edits, those that are `alike` together, and scripts.

    The edits of a script make the answer right together.
    """

    single: Sequence[CodeEdit]
    alike: Sequence[tuple[CodeEdit, ...]]
    scripts: Sequence[Sequence[CodeEdit]]


@dataclass(frozen=True)
class Plan:
    """What is tried of an answer: edits that are `near` first, those that are `further` later.

    `alike` gives, of an edit that made it right, those that do the same elsewhere. `known` are the lines in
    which each of several known mistakes seems to be.
    """

    near: Sequence[CodeEdit]
    further: Callable[[], Further]
    alike: Callable[[CodeEdit], Sequence[CodeEdit]] = lambda _: ()
    known: Sequence[set[int]] = ()


@dataclass(frozen=True)
class World:
    """Where changes are tried: what runs before the answer is in place there.

    `open_probe` forks a process in which the answer's cell has not run; RunEndedError if it cannot.
    `prove` runs every check on a cell in a fork of its own, which finds no file that a trial left, and
    returns whether all passed. `seconds` is the processor time that both have taken so far.
    """

    open_probe: Callable[[], Probe]
    prove: Callable[[str], bool]
    seconds: Callable[[], float]


class Search:
    """The search for changes of one answer, whose `failed` checks are known."""

    def __init__(
        self, oracle: Oracle, exercise: Exercise, world: World, failed: set[str], limit: float
    ) -> None:
        self._exercise, self._world, self._limit = exercise, world, limit
        asked = [
            (check, oracle.test_input(exercise, check)) for check in exercise.checks if check.id in failed
        ]
        self._expected = {check.id: oracle.expected(exercise, check, test) for check, test in asked}
        self._probe: Probe | None = None
        self._for_one = LONGEST_SECONDS
        self._endings = self.tried = self.proved = 0
        self._own: dict[str, float] = {}  # the distances of the answer itself, by check
        # edits that fix a part, with the number of checks left when one failed, and its distance
        self._halves: list[tuple[int, float, CodeEdit]] = []
        self._alone: set[CodeEdit] = set()  # the edits that were tried by themselves
        self._refuted: set[CodeEdit] = set()  # those of them that pass what failed, and fail what had passed
        self._raised: Raised | None = None  # the last exception
        self.says_why = False  # whether the answer ends its process
        self._line_says_all = (
            False  # whether it fails for a name or a file that it lacks, and for nothing else
        )
        self._began = self._seconds()
        self._asked = sorted(asked, key=lambda each: len(self._request(each).frame))

    def find(self, source: str, plan: Callable[[int | None], Plan]) -> list[CodeChange]:
        """Return the changes with which every check passes, the likeliest first; none if none was found.

        The plan may depend on the line in which the answer raises an exception. First the edits that are near
        are tried one by one; where several known mistakes seem to be, edits one by one and in pairs; then the
        edits that are further, and those of them that are alike together. After them come the scripts, first
        that of the model answer, without those of their edits that they can do without. At the end, any edits
        are tried in pairs, beginning with those that bring a result nearer to what is right. Where a
        name means nothing, or there is no such file, nothing is looked for.
        """
        found: list[CodeChange] = []
        with suppress(RunEndedError):  # of a run as a whole: what was proved before stands
            if self._asked and not self._passes_as_it_is(source) and not self._line_says_all:
                tried = plan(self._raised.line if self._raised else None)
                found += self._singles(source, [(each,) for each in tried.near])
                if not found and not self._is_over():
                    further = tried.further()
                    edits = sorted([*tried.near, *further.single], key=lambda each: each.cost)
                    found += self._where_known(source, edits, tried.known)
                    if not found:
                        single = [(each,) for each in further.single]
                        found += self._singles(source, [*single, *further.alike])
                    for script in further.scripts:
                        found += [] if found else self._least(source, script)
                    found += [] if found else self._pair(source, self._beside_halves(edits))
                    found += [] if found else self._pair(source, combinations(edits[:MOST_PAIRED], 2))
                if found and len(found[0].edits) == 1:
                    others = [combined(source, [each]) for each in tried.alike(found[0].edits[0])]
                    found += [each for each in others if self._is_proved(each)]
        self._close()
        return found

    def _where_known(
        self, source: str, edits: Sequence[CodeEdit], known: Sequence[set[int]]
    ) -> list[CodeChange]:
        """Return what passes of the edits in the lines of known mistakes, if there are several of these."""
        if len(known) < 2:
            return []
        there = [
            [each for each in edits if not lines.isdisjoint(range(each.first, each.last + 1))][:MOST_KNOWN]
            for lines in known
        ]
        every = [*dict.fromkeys(edit for some in there for edit in some)]
        found = self._singles(source, [(each,) for each in every])
        found += [] if found else self._pair(source, self._beside_halves(every), SHARE_OF_KNOWN)
        two = (pair for one, other in combinations(there, 2) for pair in product(one, other))
        return found or self._pair(source, two, SHARE_OF_KNOWN)

    def _singles(self, source: str, edits: Sequence[tuple[CodeEdit, ...]]) -> list[CodeChange]:
        found: list[CodeChange] = []
        new = [combined(source, each) for each in edits if len(each) > 1 or each[0] not in self._alone]
        changes = sorted(new, key=lambda each: each.cost)[:MOST_TRIED]
        last = math.inf  # the number of the last change that is worth a try
        for start in range(0, len(changes), BATCH):
            dear = found and changes[start].cost > found[0].cost + MARGIN
            if dear or start > last or (start and self._is_over(SHARE_OF_SINGLES)):
                break
            for change in self._survivors(changes[start : start + BATCH]):
                if not any(_covers(each, change) for each in found) and self._is_proved(change):
                    found.append(change)
                    last = min(last, start + MOST_AFTER)
        return found

    def _least(self, source: str, script: Sequence[CodeEdit]) -> list[CodeChange]:
        """Return a script without the edits that it can do without, if it leads to a right answer at all."""
        left = _apart(script)
        if not left or not self._mends(source, left):
            return []
        for edit in sorted(left, key=lambda each: -each.cost):
            fewer = [each for each in left if each is not edit]
            if fewer and self._mends(source, fewer):
                left = fewer
        change = combined(source, left)
        return [change] if _places(left) <= MOST_TOGETHER and self._is_proved(change) else []

    def _mends(self, source: str, edits: Sequence[CodeEdit]) -> bool:
        return self._passes(combined(source, edits).source, self._asked)

    def _pair(self, source: str, pairs: Iterable[Sequence[CodeEdit]], share: float = 1.0) -> list[CodeChange]:
        """Return the first pair of edits that passes, the cheapest first; one of them, if it does alone."""
        apart = [each for each in pairs if not each[0].meets(each[1])]
        apart = sorted(apart, key=lambda each: each[0].cost + each[1].cost)[:MOST_TRIED]
        for start in range(0, len(apart), BATCH):
            if self._is_over(share):
                break
            for change in self._survivors([combined(source, each) for each in apart[start : start + BATCH]]):
                if not self._refuted.isdisjoint(change.edits):
                    continue
                alone = next((each for each in change.edits if self._mends(source, [each])), None)
                least = combined(source, [alone]) if alone else change
                if self._is_proved(least):
                    return [least]
        return []

    def _beside_halves(self, edits: Sequence[CodeEdit]) -> Iterator[tuple[CodeEdit, CodeEdit]]:
        """Yield the edits that fix a part, the best few in each place, each beside the others."""
        places = Counter[tuple[int, int]]()
        best: list[CodeEdit] = []
        for _, _, half in sorted(self._halves, key=lambda each: (each[0], each[1], each[2].cost)):
            places[half.first, half.last] += 1
            if places[half.first, half.last] <= MOST_IN_A_PLACE:
                best.append(half)
        yield from ((half, edit) for half in best[:MOST_HALVES] for edit in edits[:MOST_BESIDE])

    def _is_proved(self, change: CodeChange) -> bool:
        self.proved += 1
        proved = self.proved <= MOST_PROVED and self._world.prove(change.source)
        if not proved and len(change.edits) == 1:
            self._alone.add(change.edits[0])
            self._refuted.add(change.edits[0])
        return proved

    def _passes_as_it_is(self, source: str) -> bool:
        """Return whether the answer passes here what it failed before; sort the questions by what they take.

        If it does, the reason is not in this cell alone, and no change of it would say anything. Once it has
        failed some, the others are not asked. What takes about as long counts as equal, so that the order is
        the same every time.
        """
        taken: dict[str, float] = {}
        kinds, last = set[str](), None
        for question in self._asked:
            before = self._world.seconds()
            self._raised = None
            self._own[question[0].id] = off = next(self._distances([source], question), ENDED)
            kinds |= set() if off == RIGHT else {self._raised.kind if self._raised else ""}
            last = self._raised or last
            taken[question[0].id] = self._world.seconds() - before
            if self._endings or sum(each != RIGHT for each in self._own.values()) == MOST_ASKED:
                break
        self.says_why = bool(self._endings)
        self._raised, self._line_says_all = last, kinds <= LACKING
        self._for_one = min(LONGEST_SECONDS, FEWEST_SECONDS + TIMES_ITS_OWN * max(taken.values()))

        def order(question: Question) -> tuple[bool, float]:
            name = question[0].id
            return self._own.get(name) == RIGHT, _magnitude(taken[name]) if name in taken else math.inf

        self._asked.sort(key=order)
        return all(self._own.get(name) == RIGHT for name in self._expected)

    def _survivors(self, changes: Sequence[CodeChange]) -> Iterator[CodeChange]:
        """Yield the changes that pass every check that the answer failed; keep the edits that fix a part."""
        first, *others = self._asked
        distances = [*self._distances([each.source for each in changes], first)]
        own = self._own.get(first[0].id, ENDED)
        for change, off in zip(changes, distances, strict=False):
            failed = len(others) + 1  # before the first check that fails, so many are left
            if off == RIGHT:
                passed = next(
                    (n for n, each in enumerate(others) if not self._passes(change.source, [each])), None
                )
                if passed is None:
                    yield change
                    continue
                failed = len(others) - passed
            if len(change.edits) == 1:
                self._alone.add(change.edits[0])
                if is_nearer(off, own):
                    self._halves.append((failed, off, change.edits[0]))

    def _passes(self, cell: str, questions: Sequence[Question]) -> bool:
        return all(next(self._distances([cell], question), ENDED) == RIGHT for question in questions)

    def _distances(self, cells: Sequence[str], question: Question) -> Iterator[float]:
        """Yield how far the result of each cell is from what a check expects."""
        left = [*cells]
        while left and not self._is_over():
            if self._probe is None or not self._probe.ready:
                self._probe = self._world.open_probe()
            try:
                with closing(self._probe.try_all(left, self._request(question))) as answers:
                    for seen in answers:
                        left.pop(0)
                        self.tried += 1
                        yield self._distance(question, seen)
            except RunEndedError:
                self._endings += 1
                self._probe = None
                left.pop(0)
                yield ENDED

    def _distance(self, question: Question, seen: dict[str, Any]) -> float:
        check, asked = question
        expected = self._expected[check.id]
        got = observed(asked.operation, seen)
        if got.raised and not expected.raised:  # to say what it was would take long
            self._raised = got.raised
            return distance(got, expected)
        judged = judge_check(self._exercise, check, Comparison(asked.operation, got, expected))
        return RIGHT if judged.passed else distance(got, expected)

    def _request(self, question: Question) -> Request:
        check, asked = question
        seconds = self._for_one if check.id in self._own else LONGEST_SECONDS
        return Request(asked.operation, self._exercise.name, asked.seed, seconds)

    def _is_over(self, share: float = 1.0) -> bool:
        spent = self._seconds() - self._began
        return self._endings >= MOST_ENDINGS or self.proved >= MOST_PROVED or spent > share * self._limit

    def _seconds(self) -> float:
        return self._world.seconds() + time.process_time()

    def _close(self) -> None:
        if self._probe is not None:
            with suppress(RunEndedError):
                self._probe.close()
            self._probe = None


def _magnitude(seconds: float) -> int:
    """Return how often a time has to be quartered to be a millisecond or less."""
    return max(0, math.ceil(math.log(max(seconds, 1e-9) / 0.001, 4)))


def _covers(found: CodeChange, other: CodeChange) -> bool:
    """Return whether a change that was found names the place of another one, at least as precisely."""
    if len(found.edits) > 1 or len(other.edits) > 1:
        return False
    one, two = found.edits[0], other.edits[0]
    if MISSING in (one.what, two.what):  # of gaps, it depends on what is put in
        return False
    return (one.first, one.last) == (two.first, two.last) and vagueness(one) <= vagueness(two)


def _places(edits: Sequence[CodeEdit]) -> int:
    """Return the number of places that edits change; a gap next to a changed line is not counted."""
    lines = {(each.first, each.last) for each in edits if each.what != MISSING}
    beside = {line for first, last in lines for line in range(first, last + 1)}
    gaps = {(each.first, each.last) for each in edits if each.what == MISSING}
    return len(lines) + sum(beside.isdisjoint(gap) for gap in gaps)


def _apart(edits: Sequence[CodeEdit]) -> list[CodeEdit]:
    """Return edits without those that touch what an earlier one touches."""
    found: list[CodeEdit] = []
    for edit in edits:
        if not any(edit.meets(other) for other in found):
            found.append(edit)
    return found
