"""The grader's end of the sandbox: starts the warm process, opens runs in it, and checks every answer.

`WarmProcess.run` forks a `Run` for one pass through a submission, and `Run.probe` forks a `Probe` from
the run as it stands. Nothing that comes back is trusted to have the right form.
"""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

from autograder.model.errors import (
    AutograderError,
    RunCrashedError,
    RunEndedError,
    RunTimedOutError,
    RunWaitedError,
)
from autograder.probe import wire
from autograder.probe.limits import WALL_FACTOR
from autograder.probe.notes import Kind, Note
from autograder.probe.operation import Operation, fields_of, path_of
from autograder.sandbox import bubblewrap

START_SECONDS = 60
GRACE_SECONDS = 3.0  # how much longer to wait than the process may take by its own clock
CLOSE_SECONDS = 3.0
MAX_SECONDS = 1e6  # no run takes longer
MAX_NOTES = 100
MAX_DETAIL = 200

# Exit statuses, as Python and as a shell report a signal
OUT_OF_TIME = (-signal.SIGPROF, 128 + signal.SIGPROF)
WAITED = (-signal.SIGALRM, 128 + signal.SIGALRM)


class WarmProcess:
    """A sandboxed process that has imported torch, from which runs are forked."""

    def __init__(self, modules: Iterable[str] = (), *, sandboxed: bool = True) -> None:
        """Start it and wait until it has imported `modules`, as far as they exist.

        Raises SandboxMissingError if bubblewrap is wanted and not installed, AutograderError if the
        process does not start.
        """
        self.sandboxed = sandboxed
        self._control, theirs = socket.socketpair()
        with theirs:
            self._process = self._start(theirs.fileno(), modules)
        self._wait_until_ready()

    def _start(self, channel: int, modules: Iterable[str]) -> "subprocess.Popen[bytes]":
        python = bubblewrap.python() if self.sandboxed else sys.executable
        mode = "isolated" if self.sandboxed else "plain"
        program = [python, "-m", "autograder.probe.warm", str(channel), mode, *modules]
        return subprocess.Popen(  # noqa: S603 - our own program, in the sandbox
            bubblewrap.command(program) if self.sandboxed else program,
            env={} if self.sandboxed else _plain_environment(),
            pass_fds=[channel],
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )

    def _wait_until_ready(self) -> None:
        self._control.settimeout(START_SECONDS)
        try:
            wire.receive(self._control)
        except (EOFError, OSError, wire.WireError) as problem:
            self._process.kill()
            _, printed = self._process.communicate()
            last = printed.decode(errors="replace").strip().splitlines()[-1:] or [str(problem)]
            raise AutograderError(f"the sandbox did not start: {last[0]}") from problem

    @property
    def alive(self) -> bool:
        """Whether the process still runs, so that runs can be forked from it."""
        return self._process.poll() is None

    def run(self) -> "Run":
        """Fork a fresh run. Raises EOFError or OSError if the warm process is gone."""
        ours, theirs = socket.socketpair()
        with theirs:
            socket.send_fds(self._control, [wire.command("run", 0)], [theirs.fileno()])
            number = int(wire.receive(self._control)["run"])
        return Run(self, ours, number)

    def stop(self, number: int) -> None:
        """End a run, whatever it is doing."""
        with contextlib.suppress(OSError):
            self._control.sendall(wire.command("stop", number))

    def close(self) -> None:
        """End the warm process and every run in it."""
        self._control.close()
        try:
            self._process.wait(timeout=CLOSE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stderr:
            self._process.stderr.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _plain_environment() -> dict[str, str]:
    """Return the sandbox's environment with this machine's path and home, for unsandboxed runs."""
    packages = str(bubblewrap.PACKAGES.parent)
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return {**bubblewrap.ENVIRONMENT, **kept, "PYTHONPATH": packages}


class Run:
    """One pass through a submission: runs its cells, and forks probes between them."""

    def __init__(self, warm: WarmProcess, channel: socket.socket, number: int) -> None:
        self._warm, self._channel, self._number = warm, channel, number
        self._notes: list[Note] = []
        self.seconds = 0.0  # of processor time, as the run itself says
        self.alive = True

    def take_notes(self) -> list[Note]:
        """Return what was noted since the last call, as pairs of kind and detail."""
        taken, self._notes = self._notes, []
        return taken

    def leave(self) -> None:
        """Have the run look for processes left behind, which are then among the notes."""
        with contextlib.suppress(RunEndedError):
            self._ask({"do": "leave"}, GRACE_SECONDS)

    def cell(self, source: str, seconds: float) -> dict[str, Any] | None:
        """Run a cell. Return a description of the exception it raised, or None if it raised none.

        Raises RunEndedError if the process did not survive the cell, or used more than `seconds` of
        processor time.
        """
        answer = self._ask({"do": "cell", "source": source, "seconds": seconds}, seconds)
        raised = answer.get("raised")
        return raised if isinstance(raised, dict) else None

    def probe(
        self, seconds: float, stand_ins: Sequence[str] = (), cells: Sequence[str] = ()
    ) -> "Probe":
        """Fork a probe, and run `cells` in it, each with the names that `stand_ins` define in place.

        Raises RunEndedError if the run itself ended. A probe that ended is returned, not ready.
        """
        sources = {"stand_ins": list(stand_ins), "cells": list(cells)}
        command = {"do": "probe", "seconds": seconds, **sources}
        answer = self._ask(command, seconds)
        ready = answer.get("probe") == "ready"
        return Probe(self, None if ready else self.ending(answer.get("code")))

    def _ask(self, command: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        """Send a command and return the answer to it. Raises RunEndedError if none comes."""
        if not self.alive:
            raise RunCrashedError("the process had already ended")
        try:
            return self._checked(self._exchange(command, seconds))
        except RunEndedError:
            self.close()
            raise

    def _exchange(self, command: Mapping[str, Any], seconds: float) -> Any:
        deadline = time.monotonic() + seconds * WALL_FACTOR + GRACE_SECONDS
        try:
            self._channel.settimeout(GRACE_SECONDS)
            wire.send(self._channel, command)
            self._channel.settimeout(max(deadline - time.monotonic(), 0.1))
            return wire.receive(self._channel)
        except TimeoutError as problem:
            raise RunWaitedError("no answer in time") from problem
        except wire.WireError as problem:
            raise self._noise(str(problem)) from problem
        except (EOFError, OSError) as problem:
            raise RunCrashedError(str(problem)) from problem

    def _checked(self, answer: Any) -> dict[str, Any]:
        """Return an answer after taking its notes. Raises RunEndedError if it tells of an end."""
        if not isinstance(answer, dict):
            raise self._noise("not an answer")
        self._notes += _notes(answer.pop("noted", None))
        self.seconds += _seconds(answer.pop("seconds", 0.0))
        if answer.get("session") == "ended":
            raise self.ending(answer.get("code"))
        return answer

    def _noise(self, detail: str) -> RunCrashedError:
        self._notes.append((Kind.NOISE, detail))
        return RunCrashedError(detail)

    def ending(self, code: Any) -> RunEndedError:
        """Return the error for a process's exit status, and note it unless a limit explains it."""
        detail = f"exit status {code if isinstance(code, int) else 'unknown'}"
        if isinstance(code, int) and code in (*OUT_OF_TIME, *WAITED):
            return (RunWaitedError if code in WAITED else RunTimedOutError)(detail)
        if not any(kind == Kind.TOO_MUCH for kind, _ in self._notes):
            self._notes.append((Kind.ENDED, detail))
        return RunCrashedError(detail)

    def close(self) -> None:
        """End the run."""
        if self.alive:
            self.alive = False
            self._warm.stop(self._number)
            self._channel.close()

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

    def observe(self, operation: Operation, name: str, seed: int, seconds: float) -> dict[str, Any]:
        """Run an operation on what the student bound to `name`.

        Raises RunEndedError if the probe ended, or used more than `seconds` of processor time.
        """
        if self._ending is not None:
            raise self._ending
        command = {
            "do": "observe",
            "operation": path_of(operation),
            "fields": fields_of(operation),
            "name": name,
            "seed": seed,
            "seconds": seconds,
        }
        answer = self._run._ask(command, seconds)
        if answer.get("probe") == "ended":
            self._ending = self._run.ending(answer.get("code"))
            raise self._ending
        return answer

    def close(self) -> None:
        """End the probe. Raises RunEndedError if the run ended meanwhile."""
        if self.ready:
            self._run._ask({"do": "end"}, GRACE_SECONDS)


def _seconds(found: Any) -> float:
    """Return a time that a run says it used; what cannot be one counts as nothing."""
    return found if isinstance(found, float) and 0 <= found < MAX_SECONDS else 0.0


def _notes(found: Any) -> list[Note]:
    """Return a probe's notes; whatever does not have the form of a note is dropped."""
    pairs = found[:MAX_NOTES] if isinstance(found, (list, tuple)) else []
    return [
        (str(pair[0]), str(pair[1])[:MAX_DETAIL])
        for pair in pairs
        if isinstance(pair, (list, tuple)) and len(pair) == 2
    ]
