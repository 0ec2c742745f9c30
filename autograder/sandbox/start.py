"""Starts the warm process without importing torch, so that it can import torch while its caller does."""

import os
import socket
import subprocess
import sys
from dataclasses import dataclass
from typing import Self

from autograder.probe.isolate import PLAIN
from autograder.sandbox import bubblewrap
from autograder.sandbox.system_calls import filter_programs
from autograder.sandbox.trial import require_sandbox

CLOSE_SECONDS = 3.0


@dataclass(frozen=True)
class Started:
    """A process that is warming up: it waits on `control` for the modules that it is to import."""

    process: "subprocess.Popen[bytes]"
    control: socket.socket

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the process, and every run in it. To be called any number of times."""
        self.control.close()
        try:
            self.process.wait(timeout=CLOSE_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        if self.process.stderr:
            self.process.stderr.close()


def start(*, sandboxed: bool) -> Started:
    """Start the process. Raises SandboxMissingError if a sandbox is wanted, and cannot start here."""
    if sandboxed:
        require_sandbox()
    python = bubblewrap.python() if sandboxed else sys.executable
    rules = filter_programs() if sandboxed else PLAIN
    ours, theirs = socket.socketpair()
    with theirs:
        program = [python, "-m", "autograder.keeper.warm", str(theirs.fileno()), rules]
        process = subprocess.Popen(  # noqa: S603 - our own program, in the sandbox
            bubblewrap.command(program) if sandboxed else program,
            env={} if sandboxed else _plain_environment(),
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    return Started(process, ours)


def _plain_environment() -> dict[str, str]:
    """Return the sandbox's environment with this machine's path and home, for unsandboxed runs."""
    packages = str(bubblewrap.PACKAGES.parent)
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return {**bubblewrap.ENVIRONMENT, **kept, "PYTHONPATH": packages}
