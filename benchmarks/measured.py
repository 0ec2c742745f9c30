"""Runs a command, and says what it cost: seconds by the clock, and of processor time with its children."""

import contextlib
import os
import resource
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from autograder.probe.isolate import adopt_orphans


@dataclass(frozen=True)
class Cost:
    """What a command cost, in seconds by the clock and of processor time, and its largest process."""

    wall: float
    cpu: float
    megabytes: float

    def each(self, count: int) -> float:
        """Return the seconds by the clock for each of `count` submissions."""
        return self.wall / count


def cost(command: Sequence[str], folder: Path, environment: Mapping[str, str] = {}) -> Cost:
    """Run a command in a folder and return its cost. Raises CalledProcessError if it fails.

    The processor time includes that of processes that outlive the command for a moment, such as those of a
    sandbox. The memory is that of the largest process of this benchmark's run so far.
    """
    adopt_orphans()
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(
        command, cwd=folder, env=os.environ | environment, capture_output=True, text=True, check=False
    )
    wall = time.monotonic() - started
    with contextlib.suppress(ChildProcessError):
        while True:
            os.wait()
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(wall, cpu, after.ru_maxrss / 1024)
