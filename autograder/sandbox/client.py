"""The judge's end: starts the warm process, opens runs in it, and never trusts what comes back."""

import contextlib
import itertools
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any

from autograder.errors import AutograderError
from autograder.probe import watch, wire
from autograder.sandbox import bubblewrap

START_SECONDS = 60
GRACE_SECONDS = 3.0
CLOSE_SECONDS = 3.0
ALARM_SIGNAL = 14
MOST_NOTES = 100


class RunEndedError(Exception):
    """The run's process is gone, or says things no probe says. `reason` is 'timeout' or 'crashed'."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason, self.detail = reason, detail


class WarmProcess:
    """A sandboxed process that has imported torch, from which runs are forked."""

    def __init__(self, modules: Iterable[str] = (), *, sandboxed: bool = True) -> None:
        """Start it. Raises SandboxMissingError where bubblewrap is wanted and not there."""
        self.sandboxed = sandboxed
        ours, theirs = socket.socketpair()
        self._control = ours
        self._process = self._start(theirs, list(modules))
        theirs.close()
        self._wait_until_ready()

    def _start(self, theirs: socket.socket, modules: list[str]) -> "subprocess.Popen[bytes]":
        mode = "isolated" if self.sandboxed else "plain"
        program = [
            bubblewrap.python() if self.sandboxed else sys.executable,
            "-m",
            "autograder.probe.warm",
            str(theirs.fileno()),
            mode,
            *modules,
        ]
        if self.sandboxed:
            program = bubblewrap.command(program)
        environment = {} if self.sandboxed else _plain_environment()
        return subprocess.Popen(  # noqa: S603 - our own program, in the sandbox
            program,
            env=environment,
            pass_fds=[theirs.fileno()],
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
            said = (
                self._process.stderr.read().decode(errors="replace") if self._process.stderr else ""
            )
            last = said.strip().splitlines()[-1:] or [str(problem)]
            raise AutograderError(f"the sandbox did not start: {last[0]}") from problem

    def run(self) -> "Run":
        """Fork a fresh run."""
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
        if not self._ends_by_itself():
            self._process.kill()
            self._process.wait()
        if self._process.stderr:
            self._process.stderr.close()

    def _ends_by_itself(self) -> bool:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=CLOSE_SECONDS)
        return self._process.returncode is not None

    def __enter__(self) -> "WarmProcess":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _plain_environment() -> dict[str, str]:
    """Return the sandbox's environment with this machine's path and home, for runs without one."""
    packages = str(bubblewrap.PACKAGES.parent)
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return {**bubblewrap.ENVIRONMENT, **kept, "PYTHONPATH": packages}


class Run:
    """One submission's process: runs cells, and opens probes at the places the judge chooses."""

    def __init__(self, warm: WarmProcess, channel: socket.socket, number: int) -> None:
        self._warm, self._channel, self._number = warm, channel, number
        self._notes: list[tuple[str, str]] = []
        self.alive = True

    def take_notes(self) -> list[tuple[str, str]]:
        """Return what was noted since the last time, by the probe or of its end: kind and detail."""
        taken, self._notes = self._notes, []
        return taken

    def leave(self) -> None:
        """Have the run look around for the last time; what it finds is among the notes."""
        with contextlib.suppress(RunEndedError):
            self._ask({"do": "leave"}, GRACE_SECONDS)

    def cell(self, source: str, seconds: float) -> dict[str, Any] | None:
        """Run a cell; return what it raised, or None. RunEndedError if the process did not live."""
        answer = self._ask({"do": "cell", "source": source, "seconds": seconds}, seconds)
        raised = answer.get("raised")
        return raised if isinstance(raised, dict) else None

    def probe(
        self, seconds: float, overrides: Sequence[str] = (), rerun: str | None = None
    ) -> "Probe":
        """Fork a probe from the run as it stands now."""
        command = {"do": "probe", "seconds": seconds, "overrides": list(overrides), "rerun": rerun}
        answer = self._ask(command, seconds)
        return Probe(self, ready=answer.get("probe") == "ready", code=answer.get("code"))

    def _ask(self, command: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        """Send a command and wait for its answer, a little longer than the probe may take."""
        if not self.alive:
            raise RunEndedError("crashed", "the process had already ended")
        deadline = time.monotonic() + seconds + GRACE_SECONDS
        try:
            self._channel.settimeout(GRACE_SECONDS)
            wire.send(self._channel, command)
            self._channel.settimeout(max(deadline - time.monotonic(), 0.1))
            answer = wire.receive(self._channel)
        except TimeoutError:
            raise self._ended("timeout", "no answer in time") from None
        except wire.WireError as problem:
            self._notes.append(("noise", str(problem)))
            raise self._ended("crashed", str(problem)) from problem
        except (EOFError, OSError) as problem:
            raise self._ended("crashed", str(problem)) from problem
        return self._checked(answer)

    def _checked(self, answer: Any) -> dict[str, Any]:
        if not isinstance(answer, dict):
            self._notes.append(("noise", "not an answer"))
            raise self._ended("crashed", "not an answer")
        self._notes += _notes(answer.pop("noted", None))
        if answer.get("session") == "ended":
            if not any(kind == watch.TOO_MUCH for kind, _ in self._notes):
                self.note_end(answer.get("code"))
            raise self._ended(_reason(answer.get("code")), f"exit status {answer.get('code')}")
        return answer

    def note_end(self, code: Any) -> None:
        """Note that a process did not live to answer, and how it went, unless it ran out of time."""
        if _reason(code) != "timeout":
            self._notes.append(("ended-process", f"exit status {code}"))

    def _ended(self, reason: str, detail: str) -> RunEndedError:
        self.close()
        return RunEndedError(reason, detail)

    def close(self) -> None:
        """End the run."""
        if self.alive:
            self.alive = False
            self._warm.stop(self._number)
            self._channel.close()

    def __enter__(self) -> "Run":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class Probe:
    """A fork of a run that answers observations until it is closed, or dies."""

    _numbers = itertools.count()

    def __init__(self, run: Run, *, ready: bool, code: Any = None) -> None:
        self._run, self.ready = run, ready
        self.ended_by = None if ready else _reason(code)
        if not ready:
            run.note_end(code)

    def observe(self, scenario: str, inputs: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        """Run a scenario on the student's names; RunEndedError when the probe did not live."""
        if not self.ready:
            raise RunEndedError(self.ended_by or "crashed")
        command = {
            "do": "observe",
            "scenario": scenario,
            "inputs": dict(inputs),
            "seconds": seconds,
        }
        answer = self._run._ask(command, seconds)
        if answer.get("probe") == "ended":
            self.ready, self.ended_by = False, _reason(answer.get("code"))
            self._run.note_end(answer.get("code"))
            raise RunEndedError(self.ended_by)
        return answer

    def close(self) -> None:
        """End the probe, and take the run's word for it off the wire."""
        if self.ready and self._run.alive:
            self.ready = False
            self._run._ask({"do": "end"}, GRACE_SECONDS)


def _notes(found: Any) -> list[tuple[str, str]]:
    """Return a probe's notes, as far as they have the form of notes."""
    pairs = found[:MOST_NOTES] if isinstance(found, (list, tuple)) else []
    return [
        (str(pair[0]), str(pair[1])[:200])
        for pair in pairs
        if isinstance(pair, (list, tuple)) and len(pair) == 2
    ]


def _reason(code: Any) -> str:
    return "timeout" if code in (-ALARM_SIGNAL, 128 + ALARM_SIGNAL) else "crashed"
