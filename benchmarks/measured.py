"""Runs a command, and says what it cost: seconds by the clock, and of processor time."""

import os
import resource
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


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

    The processor time is that of the whole machine, which has to be idle otherwise: the kernel forgets what a
    process used that was killed with its namespace. The memory is that of the largest process of this
    benchmark's run so far.
    """
    before, started = _busy(), time.monotonic()
    done = subprocess.run(
        command, cwd=folder, env=os.environ | environment, capture_output=True, text=True, check=False
    )
    wall = time.monotonic() - started
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    largest = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    return Cost(wall, _busy() - before, largest / 1024)


def _busy() -> float:
    """Return the processor time in seconds that the machine has used so far (proc_stat(5))."""
    user, nice, system, _idle, _wait, irq, softirq, *_ = Path("/proc/stat").read_text().split()[1:9]
    return sum(map(int, (user, nice, system, irq, softirq))) / os.sysconf("SC_CLK_TCK")
