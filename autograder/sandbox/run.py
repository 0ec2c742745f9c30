"""The grader's end of one run: sends commands to its processes, and checks every answer.

A `Run` is one pass through a submission. Its cells run in a process of their own, the notebook, and a `Probe`
is a fork of the notebook as it stands. Before the first cell, and after `Run.clean`, it is a fork of the
process in which no cell is ever run. Nothing that comes back is trusted to have the right form, or to come in
time.
"""

import contextlib
import math
import select
import signal
import socket
import time
from collections import deque
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, Self, TypeVar

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
from coursework.engine.operation import Operation, packed

GRACE_SECONDS = 3.0  # how much longer to wait than the process may take by its own clock
FRAME_SECONDS = 10.0  # for an answer to arrive in full once its first byte is there
END_SECONDS = 10.0  # for the kernel to clear away a run that was killed
LOOK_SECONDS = 1.0  # between two looks at what a run does
# What computes gets as much on a busy machine as on an idle one: several times its time, on the clock.
WALL_FACTOR = 6.0
# Questions sent before they are answered. With a timeout, Linux takes a message only while at most a quarter
# of the socket's buffer (208 KiB) is in use, and counts each message up to twice.
AHEAD, AHEAD_BYTES = 8, 2**14

OUT_OF_TIME = (-signal.SIGPROF, 128 + signal.SIGPROF)  # as Python and as a shell report a signal


Command = tuple[bytes, float]  # as it is sent, and the seconds that the answer may use


class RunOwner(Protocol):
    """What a run needs of the warm process that it was forked from."""

    def used(self, number: int) -> tuple[float, float | None]:
        """Return the seconds of processor time that a run has used, and how long it had or wanted some."""

    def stop(self, number: int) -> None:
        """End a run, whatever it is doing."""

    def restart(self) -> None:
        """Kill every run, and the process they were forked from."""


@dataclass(frozen=True, eq=False)
class Request:
    """What a probe is asked: an operation, run on what the student bound to `name`.

    `seed` sets the random state, and `seconds` of processor time is what the answer may use.
    """

    operation: Operation
    name: str
    seed: int
    seconds: float

    @cached_property
    def frame(self) -> bytes:
        """The command to a probe as it is sent, packed once for the whole class."""
        return wire.pack(self.command("observe"))

    def command(self, word: str) -> dict[str, Any]:
        """Return the command that does something with the operation."""
        command = {"name": self.name, "seed": self.seed, "seconds": self.seconds}
        return {"do": word, **packed(self.operation), **command}


class Process:
    """One process of a run, which answers on a channel of its own until it ends or is closed."""

    def __init__(self, run: "Run", channel: socket.socket, parent: "Process | None" = None) -> None:
        self.channel, self.parent = channel, parent
        self.ended: RunEndedError | None = None
        self._run = run

    @property
    def ready(self) -> bool:
        """Whether it still answers."""
        return self.ended is None and self._run.alive

    @property
    def lineage(self) -> list["Process"]:
        """This process, the one that it was forked from, and so on."""
        return [self, *(self.parent.lineage if self.parent else [])]

    def ask(self, command: dict[str, Any], seconds: float, *expected: type[Answer]) -> Answer:
        """Send a command and return the answer to it. Raises RunEndedError if none comes."""
        self.send(wire.pack(command))
        return self.receive(seconds, *expected)

    def send(self, packed_commands: bytes) -> None:
        """Send what `wire.pack` made of commands. Raises RunEndedError if the process had ended before."""
        if self.ended:
            raise self.ended
        with contextlib.suppress(OSError):  # it has ended since, as `receive` is going to find out
            self.channel.settimeout(GRACE_SECONDS)
            self.channel.sendall(packed_commands)

    def receive(self, seconds: float, *expected: type[Answer]) -> Answer:
        """Return the next answer, for which the process may use `seconds` of processor time.

        Raises RunEndedError if the process, or one that it was forked from, ended or was stopped instead.
        """
        try:
            speaker, answer = self._run.hear(self, seconds, expected)
            if isinstance(answer, frames.SessionEnded):
                raise self._run.ending(answer.code)
        except RunEndedError:
            self._run.close()
            raise
        if isinstance(answer, frames.ForkEnded) and speaker is not self:
            lineage = self.lineage
            ending = self._run.ending(answer.code)
            for ended in lineage[: lineage.index(speaker)]:
                ended.end(ending)
            raise ending
        return answer  # type: ignore[return-value] # one of those that were expected

    def end(self, ending: RunEndedError) -> None:
        """Take note that it has ended."""
        self.ended = self.ended or ending
        self.channel.close()

    def close(self) -> None:
        """End it, and wait until it has ended. Raises RunEndedError if the run ended meanwhile."""
        if self.ended is None:
            self.end(RunCrashedError("the process was ended"))
            if self.parent and not self.parent.ended:
                self.parent.receive(GRACE_SECONDS, frames.ForkEnded)


class Probe(Process):
    """A fork that answers questions."""

    def observe_all(self, requests: Iterable[Request]) -> Generator[dict[str, Any]]:
        """Yield the fields of the observation for each request, in order.

        The next requests are on their way while the caller works on one answer. To be closed by the
        caller: a probe whose answers nobody waits for is ended. Raises RunEndedError, at the request at
        which the probe ended, or used up its processor time.
        """
        yield from self._all((request.frame, request.seconds) for request in requests)

    def try_all(self, cells: Iterable[str], request: Request) -> Generator[dict[str, Any]]:
        """Yield the same of what each of some cells defines: it runs with all names as they were before.

        To be closed, and raises RunEndedError, as `observe_all` does.
        """
        self.ask(request.command("ask"), GRACE_SECONDS, frames.Kept)
        trials = (wire.pack({"do": "try", "source": cell}) for cell in cells)
        yield from self._all((trial, request.seconds) for trial in trials)

    def _all(self, commands: Iterable[Command]) -> Generator[dict[str, Any]]:
        waiting, asked = deque(commands), deque[Command]()
        try:
            while waiting or asked:
                self._send_ahead(waiting, asked)
                answer = self.receive(asked[0][1], frames.Seen)
                asked.popleft()
                yield {name: getattr(answer, name) for name in ("value", "changed", "excluded")} | {
                    "raised": answer.raised.model_dump(exclude_unset=True) if answer.raised else None
                }
        finally:
            if asked:
                with contextlib.suppress(RunEndedError):
                    self.close()

    def _send_ahead(self, waiting: deque[Command], asked: deque[Command]) -> None:
        """Send as many requests as the channel takes at once, at least one if none is out.

        A probe that waits for us to take a long answer reads nothing, so they must have room. Each is sent on
        its own: what was sent at once counts in full until all of it is read.
        """
        room = AHEAD_BYTES - sum(len(frame) for frame, _ in asked)
        while waiting and len(asked) < AHEAD and (not asked or len(waiting[0][0]) <= room):
            room -= len(waiting[0][0])
            self.send(waiting[0][0])
            asked.append(waiting.popleft())


Forked = TypeVar("Forked", bound=Process)


class Run:
    """One pass through a submission: runs its cells, and forks probes between them."""

    def __init__(
        self, warm: RunOwner, channel: socket.socket, number: int, deadline: float = math.inf
    ) -> None:
        self._warm, self._number, self.deadline = warm, number, deadline
        self._notes: list[Note] = []
        self._first = Process(self, channel)  # runs no cell, and no question
        self._notebook: Process | None = None
        self._shared: tuple[tuple[str, ...], Probe] | None = None  # what it excludes, and the probe
        self._forks: list[Process] = []
        self.seconds = 0.0  # of processor time, as the run itself says

    @property
    def alive(self) -> bool:
        """Whether it can be asked to run a cell, or for a probe."""
        return not (self._first.ended or (self._notebook and self._notebook.ended))

    @property
    def used_seconds(self) -> float:
        """The processor time that it has used so far, as the kernel says."""
        return self._warm.used(self._number)[0]

    def take_notes(self) -> list[Note]:
        """Return what was noted since the last call, as pairs of kind and detail."""
        taken, self._notes = self._notes, []
        return taken

    def cell(self, source: str, seconds: float, lesson: str = "") -> dict[str, Any] | None:
        """Run a cell. Return a description of the exception it raised, or None if it raised none.

        It finds the stand-ins that `lesson` hands out. Raises RunEndedError if the process did not
        survive the cell, or used more than `seconds` of processor time.
        """
        command = {"do": "cell", "source": source, "seconds": seconds, "lesson": lesson}
        answer = self._open_notebook(lesson).ask(command, seconds, frames.CellDone)
        return answer.raised.model_dump(exclude_unset=True) if answer.raised else None

    def keep(self, exercise: str) -> bool:
        """Have the notebook remember what each name means now, for `switch`. Return whether it did."""
        with contextlib.suppress(RunEndedError):
            self._open_notebook().ask({"do": "keep", "exercise": exercise}, GRACE_SECONDS, frames.Kept)
            return True
        return False

    def switch(self, seconds: float, exercise: str, lesson: str = "", excluded: Sequence[str] = ()) -> Probe:
        """Return a probe whose names mean what `keep` remembered for an exercise.

        It is the same one for all exercises that exclude the same, as long as it lives, and ends with the
        next command to the run. Raises RunEndedError if the run ended.
        """
        shared = self._shared[1] if self._shared and self._shared[0] == tuple(excluded) else None
        if shared is None or not shared.ready:
            shared = self.probe(seconds, lesson=lesson, excluded=excluded)
            self._shared = tuple(excluded), shared
        if shared.ready:
            try:
                shared.ask({"do": "switch", "exercise": exercise}, GRACE_SECONDS, frames.Kept)
            except RunEndedError:
                if not self.alive:
                    raise
        return shared

    def probe(
        self,
        seconds: float,
        stand_ins: Mapping[str, str] | None = None,
        cells: Sequence[str] = (),
        lesson: str = "",
        excluded: Sequence[str] = (),
    ) -> Probe:
        """Fork a probe, and run `cells` in it, each after the names that `stand_ins` define by their sources.

        After the cells, the functions of the exclusions `excluded` are refused. Raises RunEndedError if
        the run itself ended. A probe that ended is returned, not ready.
        """
        self._end_shared()
        sources = {"stand_ins": dict(stand_ins or {}), "cells": list(cells), "excluded": list(excluded)}
        return self._fork(Probe, seconds, lesson=lesson, **sources)

    def leave(self) -> bool:
        """Have the run look for processes left behind, which are then among the notes.

        Return whether nothing at all is left: neither processes nor files.
        """
        with contextlib.suppress(RunEndedError):
            self._end_shared()
            process = self._notebook or self._first
            return not process.ask({"do": "leave"}, GRACE_SECONDS, frames.Left).left
        return False

    def clean(self) -> bool:
        """End the notebook. Return whether nothing is left of it: then the run is as good as a fresh one."""
        with contextlib.suppress(RunEndedError):
            self._end_shared()
        if self._notebook is not None:
            with contextlib.suppress(RunEndedError):
                self._notebook.close()
            self._notebook = None
        return self.leave()

    def _open_notebook(self, lesson: str = "") -> Process:
        self._end_shared()
        if self._notebook is None:
            self._notebook = self._fork(Process, GRACE_SECONDS, lesson=lesson)
        return self._notebook

    def _end_shared(self) -> None:
        if self._shared is not None:
            (_, shared), self._shared = self._shared, None
            shared.close()

    def _fork(self, kind: type[Forked], seconds: float, **about: Any) -> Forked:
        parent = self._notebook or self._first
        nothing = {"lesson": "", "stand_ins": {}, "cells": [], "excluded": []}
        parent.send(wire.pack({"do": "fork", "seconds": seconds, **nothing, **about}))
        ours, theirs = socket.socketpair()
        with theirs, contextlib.suppress(OSError):
            socket.send_fds(parent.channel, [b"+"], [theirs.fileno()])
        fork = kind(self, ours, parent)
        self._forks = [*(each for each in self._forks if not each.ended), fork]
        try:
            fork.receive(seconds, frames.ForkReady)
        except RunEndedError:
            if not parent.ready:
                raise
        return fork

    def hear(
        self, process: Process, seconds: float, expected: tuple[type[Answer], ...]
    ) -> tuple[Process, Answer | frames.ForkEnded | frames.SessionEnded]:
        """Return the next answer of a process, or else what one that it was forked from says of its end.

        Raises RunEndedError if neither comes in time and form.
        """
        deadline = min(time.monotonic() + seconds * WALL_FACTOR + GRACE_SECONDS, self.deadline)
        speakers = process.lineage
        try:
            while True:
                speaker = self._wait(speakers, deadline, seconds)
                in_full = min(deadline, time.monotonic() + FRAME_SECONDS)
                try:
                    frame = wire.receive(speaker.channel, in_full)
                    break
                except (EOFError, ConnectionError):
                    if speaker.parent is None:
                        raise
                    speakers = speaker.parent.lineage
            forms = expected if speaker is process else (frames.ForkEnded,)
            answer = frames.checked(frame, *forms, *([] if speaker.parent else [frames.SessionEnded]))
        except TimeoutError as problem:
            late = RunOutOfTimeError if self.deadline <= time.monotonic() else RunWaitedError
            raise late("no answer in time") from problem
        except wire.WireError as problem:
            self._notes.append((Kind.NOISE, str(problem)))
            raise RunCrashedError(str(problem)) from problem
        except (EOFError, OSError) as problem:
            raise RunCrashedError(str(problem)) from problem
        self._notes += answer.noted
        self.seconds += answer.seconds
        return speaker, answer

    def _wait(self, speakers: Sequence[Process], deadline: float, seconds: float) -> Process:
        """Wait for the first byte from one of some processes, and look now and then at what the run does.

        The run has a clock of its own, which code can switch off; this one it cannot. It counts the processor
        time, and the time in which the run slept or waited although it could have computed. Raises
        TimeoutError after the deadline, and once both together are over the limit RunTimedOutError if the
        processor time alone is, RunWaitedError otherwise.
        """
        channels = [process.channel for process in speakers]
        first = last = None
        slept = 0.0
        while not (ready := select.select(channels, [], [], LOOK_SECONDS)[0]):
            if time.monotonic() > deadline:
                raise TimeoutError("no answer in time")
            now = time.monotonic(), *self._warm.used(self._number)
            first, last = first or now, last or now
            slept += _slept(last, now)
            used = now[1] - first[1]
            if used + slept > seconds + GRACE_SECONDS:
                if used <= seconds:
                    raise RunWaitedError("computed little, and waited")
                self._notes.append((Kind.TOO_MUCH, "processor time, with its own clock switched off"))
                raise RunTimedOutError("used up its processor time")
            last = now
        return next(process for process in speakers if process.channel in ready)

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
        if self._first.ended:
            return
        self._warm.stop(self._number)
        if not self._is_gone():
            self._warm.restart()
        for process in (self._first, *self._forks):
            process.end(RunCrashedError("the process had already ended"))

    def _is_gone(self) -> bool:
        """Wait until no process holds the other end of the channel; return False if one still does."""
        channel = self._first.channel
        deadline = time.monotonic() + END_SECONDS
        with contextlib.suppress(ConnectionError):
            while (left := deadline - time.monotonic()) > 0:
                channel.settimeout(left)
                try:
                    if not channel.recv(2**16):
                        return True
                except TimeoutError:
                    return False
            return False
        return True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


Look = tuple[float, float, float | None]  # the clock, and what `RunOwner.used` returns


def _slept(last: Look, now: Look) -> float:
    """Return for how many seconds a run neither computed nor waited in line for a processor."""
    if last[2] is None or now[2] is None:
        return 0.0  # the kernel does not say: then only the wall clock ends what waits
    return max(0.0, now[0] - last[0] - max(now[1] - last[1], now[2] - last[2]))
