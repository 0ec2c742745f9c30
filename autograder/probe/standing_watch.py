"""Looks from the start of a run to its end for what no answer may be taken from.

What an exception's `__str__`, a callback of the garbage collector or of a fork does runs between the
cells and the calls that are watched. And a probe that dies can leave a file, but no report: so what is
found is kept in memory that a run and its probes share.
"""

import contextlib
import mmap
import sys
from collections.abc import Iterator
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

    @contextlib.contextmanager
    def standing(self) -> Iterator[None]:
        """Look from now on."""
        with library_calls.told(self), library_calls.profiled():
            yield

    def refuse(self, stand_ins: StandIns) -> None:
        """Say which stand-ins no answer may be taken from, and look on if a cell has stopped that."""
        if self.refused is not stand_ins.refused:
            self.refused, self._passed = stand_ins.refused, {}
        if not library_calls.is_profiled():
            self.evaded()
            sys.setprofile(library_calls.look)

    @property
    def taken(self) -> set[str]:
        """What was found in this run so far, in any of its processes."""
        return {word for word, told in zip(FOUND, self._told[:], strict=True) if told}

    def entered(self, code: CodeType) -> None:
        """Take note of a stand-in that begins."""
        if id(code) in self._passed:
            return
        if code in self.refused:
            self._told[FOUND.index(STAND_IN)] = 1
        else:
            self._passed[id(code)] = code

    def evaded(self) -> None:
        """Take note of work that nobody can look at."""
        self._told[FOUND.index(ELSEWHERE)] = 1

    def heard(self, name: str) -> None:
        """Pass over functions of the library, which a cell may call."""

    called = heard
