"""The grader's end of one run: sends commands to it, and checks every answer.

A `Run` is one pass through a submission, and `Run.probe` forks a `Probe` from the run as it stands.
Nothing that comes back is trusted to have the right form, or to come in time.
"""

import contextlib
import math
import select
import signal
import socket
import time
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, Self

from autograder.model.errors import (
    RunCrashedError,
    RunEndedError,
    RunOutOfTimeError,
    RunTimedOutError,
    RunWaitedError,
)
from autograder.probe import wire
from autograder.probe.notes import Kind, Note
from autograder.sandbox import frames
from autograder.sandbox.frames import Answer
from autograder.sandbox.request import Request

GRACE_SECONDS = 3.0  # how much longer to wait than the process may take by its own clock
FRAME_SECONDS = 10.0  # for an answer to arrive in full once its first byte is there
END_SECONDS = 10.0  # for the kernel to clear away a run that was killed
LOOK_SECONDS = 1.0  # between two looks at what a run does
# A run that does not compute now, and used less processor time than this since the last look, waits.
IDLE_SECONDS = 0.2
# What computes gets as much on a busy machine as on an idle one: several times its time, on the clock.
WALL_FACTOR = 6.0

OUT_OF_TIME = (-signal.SIGPROF, 128 + signal.SIGPROF)  # as Python and as a shell report a signal


class Keeper(Protocol):
    """What a run needs of the warm process that it was forked from."""

    def used(self, number: int) -> tuple[float, bool]:
        """Return the processor time in seconds that a run has used, and whether it computes now."""

    def stop(self, number: int) -> None:
        """End a run, whatever it is doing."""

    def restart(self) -> None:
        """Kill every run, and the process they were forked from."""


class Run:
    """One pass through a submission: runs its cells, and forks probes between them."""

    def __init__(self, warm: Keeper, channel: socket.socket, number: int, deadline: float = math.inf) -> None:
        self._warm, self._channel, self._number = warm, channel, number
        self._deadline = deadline
        self._notes: list[Note] = []
        self._shared: tuple[tuple[str, ...], Probe] | None = None  # what it excludes, and the probe
        self.seconds = 0.0  # of processor time, as the run itself says
        self.alive = True

    def take_notes(self) -> list[Note]:
        """Return what was noted since the last call, as pairs of kind and detail."""
        taken, self._notes = self._notes, []
        return taken

    def leave(self) -> bool:
        """Have the run look for processes left behind, which are then among the notes.

        Return whether its probes have left nothing at all: a run in which no cell was run is then as
        good as a fresh one.
        """
        with contextlib.suppress(RunEndedError):
            self._end_shared()
            answer = self._ask(wire.pack({"do": "leave"}), GRACE_SECONDS, frames.SessionOver)
            return isinstance(answer, frames.SessionOver) and answer.clean
        return False

    def cell(self, source: str, seconds: float, lesson: str = "") -> dict[str, Any] | None:
        """Run a cell. Return a description of the exception it raised, or None if it raised none.

        It finds the stand-ins that `lesson` hands out. Raises RunEndedError if the process did not
        survive the cell, or used more than `seconds` of processor time.
        """
        command = {"do": "cell", "source": source, "seconds": seconds, "lesson": lesson}
        answer = self._ask(wire.pack(command), seconds, frames.CellDone)
        assert isinstance(answer, frames.CellDone)
        return answer.raised.model_dump(exclude_unset=True) if answer.raised else None

    def keep(self, exercise: str) -> bool:
        """Have the run remember what each name means now, for `turn`. Return whether it did."""
        with contextlib.suppress(RunEndedError):
            self._ask(wire.pack({"do": "keep", "exercise": exercise}), GRACE_SECONDS, frames.Kept)
            return True
        return False

    def turn(self, seconds: float, exercise: str, lesson: str = "", excluded: Sequence[str] = ()) -> "Probe":
        """Return a probe whose names mean what `keep` remembered for an exercise.

        It is the same one for all exercises that exclude the same, as long as it lives, and ends with the
        next command to the run. Raises RunEndedError if the run ended.
        """
        shared = self._shared[1] if self._shared and self._shared[0] == tuple(excluded) else None
        if shared is None or not shared.ready:
            shared = self.probe(seconds, lesson=lesson, excluded=excluded)
            self._shared = tuple(excluded), shared
        if shared.ready:
            shared.turn(exercise)
        return shared

    def _end_shared(self) -> None:
        if self._shared is not None:
            (_, shared), self._shared = self._shared, None
            shared.close()

    def probe(
        self,
        seconds: float,
        stand_ins: Mapping[str, str] | None = None,
        cells: Sequence[str] = (),
        lesson: str = "",
        excluded: Sequence[str] = (),
    ) -> "Probe":
        """Fork a probe, and run `cells` in it, each after the names that `stand_ins` define by their sources.

        After the cells, the functions of the exclusions `excluded` are refused. Raises RunEndedError if
        the run itself ended. A probe that ended is returned, not ready.
        """
        self._end_shared()
        sources = {"stand_ins": dict(stand_ins or {}), "cells": list(cells)}
        about = {"lesson": lesson, "excluded": list(excluded)}
        command = {"do": "probe", "seconds": seconds, **sources, **about}
        answer = self._ask(wire.pack(command), seconds, frames.ProbeReady, frames.ProbeEnded)
        ended = self.ending(answer.code) if isinstance(answer, frames.ProbeEnded) else None
        return Probe(self, ended)

    def _ask(self, command: bytes, seconds: float, *expected: type[Answer]) -> Answer:
        """Send a command and return the answer to it. Raises RunEndedError if none comes."""
        if not self.alive:
            raise RunCrashedError("the process had already ended")
        try:
            answer = self._exchange(command, seconds, expected)
            self._notes += answer.noted
            self.seconds += answer.seconds
            if isinstance(answer, frames.SessionEnded):
                raise self.ending(answer.code)
        except RunEndedError:
            self.close()
            raise
        return answer

    def _exchange(
        self, command: bytes, seconds: float, expected: tuple[type[Answer], ...]
    ) -> Answer | frames.SessionEnded:
        own = time.monotonic() + seconds * WALL_FACTOR + GRACE_SECONDS
        deadline = min(own, self._deadline)
        try:
            self._channel.settimeout(GRACE_SECONDS)
            self._channel.sendall(command)
            self._wait(deadline, seconds)
            in_full = min(deadline, time.monotonic() + FRAME_SECONDS)
            return frames.checked(wire.receive(self._channel, in_full), *expected)
        except TimeoutError as problem:
            late = RunOutOfTimeError if self._deadline <= time.monotonic() else RunWaitedError
            raise late("no answer in time") from problem
        except wire.WireError as problem:
            self._notes.append((Kind.NOISE, str(problem)))
            raise RunCrashedError(str(problem)) from problem
        except (EOFError, OSError) as problem:
            raise RunCrashedError(str(problem)) from problem

    def _wait(self, deadline: float, seconds: float) -> None:
        """Wait for the first byte of an answer, and look now and then at what the run does.

        The run has a clock of its own, which code can switch off; this one it cannot. Raises TimeoutError
        after the deadline, RunTimedOutError if the processor time is used up, and RunWaitedError if as much
        time has gone by in which nothing was computed.
        """
        first = last = None
        idle = 0.0
        while not select.select([self._channel], [], [], LOOK_SECONDS)[0]:
            if time.monotonic() > deadline:
                raise TimeoutError("no answer in time")
            used, computes = self._warm.used(self._number)
            first = used if first is None else first
            if used - first > seconds + GRACE_SECONDS:
                self._notes.append((Kind.TOO_MUCH, "processor time, with its own clock switched off"))
                raise RunTimedOutError("used up its processor time")
            waits = not computes and used - (first if last is None else last) < IDLE_SECONDS
            idle += LOOK_SECONDS if waits else 0.0
            if idle > seconds:
                raise RunWaitedError("waited, and computed nothing")
            last = used

    def ending(self, code: int) -> RunEndedError:
        """Return the error for a process's exit status, and note it unless a limit explains it."""
        detail = f"exit status {code}"
        if code in OUT_OF_TIME:
            return RunTimedOutError(detail)
        if not any(kind == Kind.TOO_MUCH for kind, _ in self._notes):
            self._notes.append((Kind.ENDED, detail))
        return RunCrashedError(detail)

    def close(self) -> None:
        """End the run, and return when nothing of it is left."""
        if self.alive:
            self.alive = False
            self._warm.stop(self._number)
            if not self._is_gone():
                self._warm.restart()
            self._channel.close()

    def _is_gone(self) -> bool:
        """Wait until no process holds the other end of the channel; return False if one still does."""
        deadline = time.monotonic() + END_SECONDS
        with contextlib.suppress(ConnectionError):
            while (left := deadline - time.monotonic()) > 0:
                self._channel.settimeout(left)
                try:
                    if not self._channel.recv(2**16):
                        return True
                except TimeoutError:
                    return False
            return False
        return True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Probe:
    """A fork of a run that answers observations until it is closed, or dies."""

    def __init__(self, run: Run, ending: RunEndedError | None) -> None:
        """Take the run it is a fork of, and how it ended if it already has."""
        self._run, self._ending = run, ending

    @property
    def ready(self) -> bool:
        """Whether it can be asked for an observation."""
        return self._ending is None and self._run.alive

    def observe(self, request: Request) -> dict[str, Any]:
        """Send a request, and return the fields of the observation.

        Raises RunEndedError if the probe ended, or used up its processor time.
        """
        if self._ending is not None:
            raise self._ending
        asked = request.frame, request.seconds
        answer = self._run._ask(*asked, frames.Seen, frames.ProbeEnded)
        if isinstance(answer, frames.ProbeEnded):
            self._ending = self._run.ending(answer.code)
            raise self._ending
        assert isinstance(answer, frames.Seen)
        return {name: getattr(answer, name) for name in ("value", "changed", "excluded")} | {
            "raised": answer.raised.model_dump(exclude_unset=True) if answer.raised else None
        }

    def turn(self, exercise: str) -> None:
        """Have its names mean what the run kept for an exercise. Raises RunEndedError if the run ended."""
        command = wire.pack({"do": "turn", "exercise": exercise})
        answer = self._run._ask(command, GRACE_SECONDS, frames.ProbeReady, frames.ProbeEnded)
        if isinstance(answer, frames.ProbeEnded):
            self._ending = self._run.ending(answer.code)

    def close(self) -> None:
        """End the probe. Raises RunEndedError if the run ended meanwhile."""
        if self.ready:
            self._run._ask(wire.pack({"do": "end"}), GRACE_SECONDS, frames.ProbeEnded)
