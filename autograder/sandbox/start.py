"""Starts the warm process without importing torch, so that it can import torch while its caller does.

Before that it is tried whether the sandbox starts on this machine: the namespaces and filters of a run,
without torch. bubblewrap may be installed and still fail to start. Ubuntu, hardened kernels and most
containers forbid the namespaces that it makes, or those that each run makes inside it (see
`autograder.sandbox.explain`).
"""

import os
import socket
import subprocess
import sys
from dataclasses import dataclass
from functools import lru_cache
from typing import Self

from autograder.model.errors import SandboxMissingError
from autograder.probe.isolate import PLAIN
from autograder.sandbox import bubblewrap
from autograder.sandbox.explain import cannot_start
from autograder.sandbox.system_calls import filter_programs

TRIAL_SECONDS = 30.0
PROGRAM = """
import os, sys
from autograder.probe import isolate
isolate.new_namespaces()
run = os.fork()
if run == 0:
    isolate.private_folders()
    isolate.drop_capabilities()
    isolate.filter_system_calls(bytes.fromhex(sys.argv[1].split(":")[0]))
    os._exit(0)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(run, 0)[1]))
"""
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
        program = [python, "-m", "autograder.probe.warm", str(theirs.fileno()), rules]
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


def require_sandbox() -> None:
    """Return if the sandbox starts; takes 0.1 s at the first call.

    Raises SandboxMissingError, which says in three lines what is wrong and how to fix it.
    """
    _try(bubblewrap.find_bubblewrap(), filter_programs())


def sandbox_problem() -> SandboxMissingError | None:
    """Return why there is no sandbox, None if there is one."""
    try:
        require_sandbox()
    except SandboxMissingError as problem:
        return problem
    return None


@lru_cache(maxsize=4)
def _try(_bwrap: str, rules: str) -> None:
    """Run the trial with the bubblewrap that was found. Successes are cached, failures are not."""
    program = [bubblewrap.python(), "-S", "-c", PROGRAM, rules]
    try:
        done = subprocess.run(  # noqa: S603 - our own program, in the sandbox
            bubblewrap.command(program),
            env={},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=TRIAL_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise cannot_start(f"it did nothing for {TRIAL_SECONDS:g} s") from None
    except OSError as problem:  # such as a bwrap for another kind of processor
        raise cannot_start(str(problem)) from problem
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
        raise cannot_start(said[0] if said else f"exit status {done.returncode}")
