"""Counts the processes of a run, their memory and their time, which limits on one process cannot bound.

Control groups would do this, but need rights that a grader does not have. The supervisor of a run therefore
reads /proc several times a second. Fields of /proc/PID/stat: see proc(5).
"""

import contextlib
import os
from dataclasses import dataclass

from autograder.probe.isolate import MAX_PROCESSES

MAX_MEMORY = 4 * 2**30  # bytes; a page that several processes share counts once
MAX_SECONDS = 300.0  # of processor time, of all processes together
PAGE = os.sysconf("SC_PAGE_SIZE")
TICKS = os.sysconf("SC_CLK_TCK")
PARENT, USER_TIME, SYSTEM_TIME, CHILDREN_USER, CHILDREN_SYSTEM = 1, 11, 12, 13, 14
THREADS, STARTED, RESIDENT = 17, 19, 21  # positions after the name, which is in brackets


@dataclass(frozen=True)
class ProcessUsage:
    """One process, as the kernel counts it. `seconds` leaves out what its children used."""

    pid: int
    parent: int
    started: int
    threads: int
    memory: int
    seconds: float
    of_children: float


class ResourceMonitor:
    """Reads /proc through a descriptor that was opened before the run mounted an empty one over it."""

    def __init__(self) -> None:
        self._proc = os.open("/proc", os.O_RDONLY | os.O_DIRECTORY)
        self._used: dict[tuple[int, int], float] = {}  # seconds, by number and start

    def close(self) -> None:
        """Close the descriptor. The run does this first, or it could see every process."""
        os.close(self._proc)

    def exceeded(self, ancestor: int) -> bool:
        """Return whether a process and its descendants are too many, too large, or took too long."""
        family = self.family(ancestor)
        self._used |= {(each.pid, each.started): each.seconds for each in family}
        return (
            sum(each.threads for each in family) > MAX_PROCESSES
            or sum(self._used.values()) > MAX_SECONDS
            or self._too_large(family)
        )

    def threads(self, ancestor: int) -> int:
        """Return how many threads a process and its descendants have, main threads included."""
        return sum(each.threads for each in self.family(ancestor))

    def usage(self, ancestor: int) -> tuple[float, float | None]:
        """Return the processor time in seconds that a process and its descendants have used so far.

        And for how many seconds their threads had a processor or waited in line for one: for the rest they
        slept, waited for something else, or were stopped. None if the kernel does not count that.
        """
        family = self.family(ancestor)
        seconds = sum(each.seconds + each.of_children for each in family)
        counted = os.access("self/schedstat", os.R_OK, dir_fd=self._proc)
        return seconds, sum(self._runnable(each.pid) for each in family) if counted else None

    def family(self, ancestor: int) -> list[ProcessUsage]:
        """Return a process and its descendants, as far as they live."""
        known = self._processes()
        family = {ancestor} & known.keys()
        while more := {n for n, each in known.items() if each.parent in family} - family:
            family |= more
        return [known[pid] for pid in family]

    def _too_large(self, family: list[ProcessUsage]) -> bool:
        """Look closely only when the quick sum, which counts shared pages often, is over the limit."""
        if sum(each.memory for each in family) <= MAX_MEMORY:
            return False
        return sum(self._proportional(each) for each in family) > MAX_MEMORY

    def _proportional(self, process: ProcessUsage) -> int:
        """Return a process's memory in bytes, of each shared page its share (Pss)."""
        with contextlib.suppress(OSError):
            for line in self._read(f"{process.pid}/smaps_rollup").splitlines():
                if line.startswith("Pss:"):
                    return int(line.split()[1]) * 1024
        return process.memory

    def _runnable(self, pid: int) -> float:
        """Return for how many seconds the threads of a process had a processor, or waited in line for one."""
        nanoseconds = 0
        with contextlib.suppress(OSError):  # it, or a thread of it, may have ended
            for thread in self._threads(pid):
                had, waited, _ = self._read(f"{pid}/task/{thread}/schedstat").split()
                nanoseconds += int(had) + int(waited)
        return nanoseconds / 1e9

    def _threads(self, pid: int) -> list[str]:
        folder = os.open(f"{pid}/task", os.O_RDONLY | os.O_DIRECTORY, dir_fd=self._proc)
        try:
            return os.listdir(folder)  # noqa: PTH208 - a descriptor, not a path
        finally:
            os.close(folder)

    def _processes(self) -> dict[int, ProcessUsage]:
        found = {}
        for name in os.listdir(self._proc):  # noqa: PTH208 - a descriptor, not a path
            if name.isdigit():
                with contextlib.suppress(OSError):  # it may have ended since it was listed
                    found[int(name)] = _process(int(name), self._read(f"{name}/stat"))
        return found

    def _read(self, path: str) -> str:
        file = os.open(path, os.O_RDONLY, dir_fd=self._proc)
        try:
            return os.read(file, 4096).decode(errors="replace")
        finally:
            os.close(file)


def _process(pid: int, stat: str) -> ProcessUsage:
    """Read a line of /proc/PID/stat. The name in it may hold anything, brackets included."""
    texts = stat.rpartition(")")[2].split()
    fields = [int(text) if text.lstrip("-").isdigit() else 0 for text in texts]
    return ProcessUsage(
        pid=pid,
        parent=fields[PARENT],
        started=fields[STARTED],
        threads=fields[THREADS],
        memory=fields[RESIDENT] * PAGE,
        seconds=(fields[USER_TIME] + fields[SYSTEM_TIME]) / TICKS,
        of_children=(fields[CHILDREN_USER] + fields[CHILDREN_SYSTEM]) / TICKS,
    )
