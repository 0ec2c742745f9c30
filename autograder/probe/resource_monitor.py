"""Counts the processes of a run and their memory, which limits on a single process cannot bound.

Control groups would do this, but need rights that a grader does not have. The keeper of a run therefore
reads /proc several times a second. Fields of /proc/PID/stat: see proc(5).
"""

import contextlib
import os

MAX_PROCESSES = 64
MAX_MEMORY = 8 * 2**30  # bytes; pages shared with the warm process count for every process
PAGE = os.sysconf("SC_PAGE_SIZE")
PARENT, RESIDENT = 1, 21  # positions after the name, which is in brackets and may hold anything


class ResourceMonitor:
    """Reads /proc through a descriptor that was opened before the run mounted an empty one over it."""

    def __init__(self) -> None:
        self._proc = os.open("/proc", os.O_RDONLY | os.O_DIRECTORY)

    def close(self) -> None:
        """Close the descriptor. The run does this first, or it could see every process."""
        os.close(self._proc)

    def exceeded(self, ancestor: int) -> bool:
        """Return whether a process and its descendants are too many, or use too much memory."""
        processes = self._processes()
        family = {ancestor}
        while more := {pid for pid, (parent, _) in processes.items() if parent in family} - family:
            family |= more
        memory = sum(processes[pid][1] for pid in family & processes.keys())
        return len(family) > MAX_PROCESSES or memory > MAX_MEMORY

    def _processes(self) -> dict[int, tuple[int, int]]:
        """Return the parent and the resident memory in bytes of every process, by its number."""
        found = {}
        for name in os.listdir(self._proc):  # noqa: PTH208 - a descriptor, not a path
            if name.isdigit():
                with contextlib.suppress(OSError):  # it may have ended since it was listed
                    fields = self._stat(name)
                    found[int(name)] = int(fields[PARENT]), int(fields[RESIDENT]) * PAGE
        return found

    def _stat(self, name: str) -> list[str]:
        file = os.open(f"{name}/stat", os.O_RDONLY, dir_fd=self._proc)
        try:
            return os.read(file, 4096).decode(errors="replace").rpartition(")")[2].split()
        finally:
            os.close(file)
