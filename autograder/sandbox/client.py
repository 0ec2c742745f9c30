"""The warm process: started in the sandbox, and asked for a fresh run for each pass through a submission."""

import contextlib
import math
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterable
from typing import Any, Self

from autograder.model.errors import AutograderError
from autograder.probe import wire
from autograder.probe.warm import PLAIN
from autograder.sandbox import bubblewrap
from autograder.sandbox.run import Run
from autograder.sandbox.system_calls import filter_programs

START_SECONDS = 60
CLOSE_SECONDS = 3.0


class WarmProcess:
    """A sandboxed process that has imported torch, from which runs are forked."""

    def __init__(self, modules: Iterable[str] = (), *, sandboxed: bool = True) -> None:
        """Start it and wait until it has imported `modules`, as far as they exist.

        Raises SandboxMissingError if bubblewrap is wanted and not installed, AutograderError if the
        process does not start.
        """
        self.sandboxed, self._modules = sandboxed, tuple(modules)
        self._launch()

    def _launch(self) -> None:
        self._control, theirs = socket.socketpair()
        with theirs:
            self._process = self._start(theirs.fileno())
        self._wait_until_ready()

    def _start(self, channel: int) -> "subprocess.Popen[bytes]":
        python = bubblewrap.python() if self.sandboxed else sys.executable
        rules = filter_programs() if self.sandboxed else PLAIN
        program = [python, "-m", "autograder.probe.warm", str(channel), rules, *self._modules]
        return subprocess.Popen(  # noqa: S603 - our own program, in the sandbox
            bubblewrap.command(program) if self.sandboxed else program,
            env={} if self.sandboxed else _plain_environment(),
            pass_fds=[channel],
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )

    def _wait_until_ready(self) -> None:
        try:
            wire.receive(self._control, time.monotonic() + START_SECONDS)
        except (EOFError, OSError, wire.WireError) as problem:
            self._process.kill()
            _, printed = self._process.communicate()
            last = printed.decode(errors="replace").strip().splitlines()[-1:] or [str(problem)]
            raise AutograderError(f"the sandbox did not start: {last[0]}") from problem

    @property
    def alive(self) -> bool:
        """Whether the process still runs, so that runs can be forked from it."""
        return self._process.poll() is None

    def run(self, deadline: float = math.inf) -> Run:
        """Fork a fresh run, which has to be over by `deadline` on the monotonic clock.

        Raises EOFError or OSError if the warm process is gone.
        """
        ours, theirs = socket.socketpair()
        with theirs:
            socket.send_fds(self._control, [wire.command("run", 0)], [theirs.fileno()])
            number = int(self._reply()["run"])
        return Run(self, ours, number, deadline)

    def used(self, number: int) -> float:
        """Return the processor time in seconds that a run has used, by the kernel's count."""
        self._control.sendall(wire.command("used", number))
        return float(self._reply()["seconds"])

    def _reply(self) -> Any:
        return wire.receive(self._control, time.monotonic() + START_SECONDS)

    def stop(self, number: int) -> None:
        """End a run, whatever it is doing."""
        with contextlib.suppress(OSError):
            self._control.sendall(wire.command("stop", number))

    def restart(self) -> None:
        """Kill the warm process with everything in it, and start another."""
        self._process.kill()
        self.close()
        self._launch()

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
