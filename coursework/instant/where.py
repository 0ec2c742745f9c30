"""`check("softmax", where=True)`: in which line a small change of the student's code mends every example.

Of the changes that do, those count that the visible test accepts as well: a few examples may pass by chance.

The changes are those that could be made to any code: nothing here knows a right answer. They are tried in a
fork, so an endless loop ends with it, and whatever a change does stays there. Where there are no forks, they
are tried in this process, as the answer itself is, each with a copy of the student's names.
"""

import json
import os
import select
import signal
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any, Final

import torch

from coursework.edits.cell import Cell, CodeEdit, distinct
from coursework.edits.generic import elsewhere, everywhere, generic_edits
from coursework.edits.places import MARGIN, MOST_AFTER, CodeChange, Told, blame, combined, told
from coursework.edits.suspects import RAISED, lines_behind, lines_of_loops, steered, without_haste
from coursework.engine.compare import is_right
from coursework.engine.examples import Example, ExampleSet
from coursework.engine.trial import runs, took_too_long, try_for
from coursework.exclusions import excluded
from coursework.instant.exercises import PublicExercise, visible_test
from coursework.instant.sources import cell_of, refused

SECONDS: Final = 2.0  # of processor time for one search: a change of a layer takes 20 ms
LATEST: Final = 5.0  # seconds by the clock, after which a fork is ended
FOR_ONE: Final = 0.05  # what a change may take on an example, besides some times what the answer takes
TIMES_ITS_OWN: Final = 3.0
LONGEST_FOR_ONE: Final = 0.5
MEMORY: Final = 2 << 30  # bytes that a fork may take in addition
OFFER: Final = 'If one small change is enough, `check("{name}", where=True)` may find its line.'
NOTHING: Final = "No small change was found that makes it right."
SEVERAL: Final = "Every example passes with one of several unrelated changes, so no line stands out."


@dataclass(frozen=True)
class Where:
    """What is said of the place, and the lines of the student's cell that it is about."""

    sentence: str
    lines: Sequence[tuple[int, str]] = ()


def where(examples: ExampleSet, exercise: PublicExercise | None, names: Mapping[str, Any]) -> Where:
    """Return where a small change makes every example pass, as found within a few seconds."""
    source = cell_of(names[examples.name])
    try:
        cell = Cell(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return Where(NOTHING)
    trial = _Trial(cell, examples, exercise, names)
    changes = _in_a_fork(trial.find) if hasattr(os, "fork") else [*trial.find()]
    found = [combined(source, each) for each in changes]
    places = told(found, source)
    if not places:
        return Where(SEVERAL if found else NOTHING)
    return Where(blame(places, "every example"), [*_lines(places, source)])


def _lines(places: Iterable[Told], source: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of some places with their numbers, in order; of a gap, those around it."""
    texts = source.split("\n")
    numbers = {number for each in places for number in range(each.first, each.last + 1)}
    return ((number, texts[number - 1]) for number in sorted(numbers) if number <= len(texts))


class _Trial:
    """Tries changes of one answer's cell on its examples, the likeliest first."""

    def __init__(
        self, cell: Cell, examples: ExampleSet, exercise: PublicExercise | None, names: Mapping[str, Any]
    ) -> None:
        self._cell, self._name, self._names = cell, examples.name, names
        self._examples: Sequence[Example] = examples.examples
        self._excludes = exercise.excludes if exercise else ()
        self._test = visible_test(exercise, names) if exercise else ""
        self._called: list[str] = []  # what was called that is excluded
        self._refusing = ExitStack()
        self._for_one = FOR_ONE

    def find(self) -> Iterator[tuple[CodeEdit, ...]]:
        """Yield the changes with which every example and the visible test pass, the likeliest first."""
        began = time.process_time()
        self._refuse()
        try:
            changes = self._plan()
            first: CodeChange | None = None
            last = len(changes)
            for number, change in enumerate(changes):
                dear = first is not None and change.cost > first.cost + MARGIN
                if dear or number > last or time.process_time() - began > SECONDS:
                    break
                if self._passes(change.source):
                    last = min(last, number + MOST_AFTER)
                    first = first or change
                    yield change.edits
            for edit in elsewhere(first.edits[0], self._cell) if first and len(first.edits) == 1 else ():
                if time.process_time() - began > SECONDS:
                    break
                if self._passes(edit.apply(self._cell.source)):
                    yield (edit,)
        finally:
            self._refusing.close()

    def _refuse(self) -> None:
        """Refuse what the exercise excludes from now on."""
        if self._excludes:
            self._refusing.enter_context(excluded(self._excludes, self._called.append))

    def _plan(self) -> list[CodeChange]:
        """Return the changes to try, by what the answer itself does on the examples.

        The examples are sorted as well: those that come out wrong are asked first, and quick ones before
        slow ones.
        """
        cell, took, raised, endless = self._cell, {}, None, False
        for number, example in enumerate(self._examples):
            before = time.monotonic()
            got = try_for(LONGEST_FOR_ONE, example.operation, self._names[self._name], self._name)
            took[number] = (is_right(got, example.expected), time.monotonic() - before)
            if got.raised and not example.expected.raised:
                raised = raised or got.raised.line
                endless = took_too_long(got)
            if endless:  # as it would on the others
                break
        if not endless:
            longest = max(seconds for _, seconds in took.values())
            self._for_one = min(LONGEST_FOR_ONE, FOR_ONE + TIMES_ITS_OWN * longest)
            self._examples = [self._examples[number] for number in sorted(took, key=lambda each: took[each])]
        edits = generic_edits(cell)
        if endless:
            edits = steered(edits, lines_of_loops(cell), RAISED)
        else:
            edits = without_haste(steered(edits, lines_behind(cell, raised), RAISED), cell)
        edits = distinct(edits, cell.source)
        changes = [*((each,) for each in edits), *everywhere(edits, cell)]
        return sorted((combined(cell.source, each) for each in changes), key=lambda each: each.cost)

    def _passes(self, source: str) -> bool:
        """Return whether every example and the visible test pass with another text, by allowed means."""
        scope = {**self._names}
        scope.pop(self._name, None)
        self._called.clear()
        if not runs(source, scope, self._for_one) or self._name not in scope:
            return False
        for example in self._examples:
            got = try_for(self._for_one, example.operation, scope[self._name], self._name)
            if not is_right(got, example.expected):
                return False
        derivatives = "derivatives" in self._excludes
        if self._called or (self._excludes and refused(source, scope, derivatives=derivatives)):
            return False
        self._refusing.close()  # the visible test may use what the answer may not
        try:
            return not self._test or runs(self._test, scope, LONGEST_FOR_ONE)
        finally:
            self._refuse()


def _in_a_fork(find: Callable[[], Iterator[tuple[CodeEdit, ...]]]) -> list[tuple[CodeEdit, ...]]:
    """Return what a search finds in a fork of this process, until it ends or takes too long."""
    reading, writing = os.pipe()
    with warnings.catch_warnings(
        action="ignore"
    ):  # of the threads of the kernel, none of which the fork needs
        process = os.fork()
    if process == 0:
        try:
            os.close(reading)
            _limit_memory()
            torch.set_num_threads(1)  # a fork has none of the pool's other threads, and would wait for them
            for edits in find():
                os.write(writing, json.dumps([astuple(each) for each in edits]).encode() + b"\n")
        finally:
            os._exit(0)
    os.close(writing)
    try:
        lines = _read(reading, time.monotonic() + LATEST).split(b"\n")[:-1]
    finally:
        os.close(reading)
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
        with suppress(ChildProcessError):
            os.waitpid(process, 0)
    return [tuple(map(_edit, json.loads(line))) for line in lines]


def _read(pipe: int, deadline: float) -> bytes:
    """Return what comes through a pipe, until its end or a deadline."""
    data = b""
    while (left := deadline - time.monotonic()) > 0 and select.select([pipe], [], [], left)[0]:
        part = os.read(pipe, 1 << 16)
        if not part:
            break
        data += part
    return data


def _edit(stored: Sequence[Any]) -> CodeEdit:
    changes, *rest = stored
    return CodeEdit(tuple((start, end, text) for start, end, text in changes), *rest)


def _limit_memory() -> None:
    """Let this process take no more than some memory in addition, where that can be said."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most = pages * resource.getpagesize() + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (most, resource.getrlimit(resource.RLIMIT_AS)[1]))
