"""Looks from the start of a run to its end for what no answer may be taken from.

What an exception's `__str__`, a callback of the garbage collector or of a fork does may run between the
cells and the calls that are watched. And a probe that dies can leave a file, but no report: so what is
found is kept in memory that a run and its probes share.
"""

import gc
import mmap
from types import CodeType
from typing import Final

from autograder.probe import library_calls
from autograder.probe.library_calls import ELSEWHERE, STAND_IN, LibraryCalls
from autograder.probe.stand_in_code import StandIns

FOUND: Final = (STAND_IN, ELSEWHERE)


class StandingWatch(LibraryCalls):
    """Notes whether this process or a fork of it runs a refused stand-in, or works out of sight."""

    def __init__(self) -> None:
        super().__init__(())
        self._told = mmap.mmap(-1, len(FOUND))  # anonymous, and shared with forks
        self._collectors = list(gc.callbacks)

    def refuse(self, stand_ins: StandIns) -> None:
        """Say which stand-ins no answer may be taken from, and undo what a cell did to stop this watch."""
        self.refused = stand_ins.refused
        if not library_calls.keep_told(self):
            self.evaded()
        if gc.callbacks != self._collectors:
            self.evaded()
            gc.callbacks[:] = self._collectors

    @property
    def taken(self) -> set[str]:
        """What was found in this run so far, in any of its processes."""
        return {word for word, told in zip(FOUND, self._told[:], strict=True) if told}

    def ran(self, code: CodeType) -> None:
        """Take note of a stand-in that runs, if the lesson refuses it."""
        if code in self.refused:
            self._told[FOUND.index(STAND_IN)] = 1

    def evaded(self) -> None:
        """Take note of work that nobody can look at."""
        self._told[FOUND.index(ELSEWHERE)] = 1
