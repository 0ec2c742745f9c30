"""Counts what a run holds in all: its processes and their memory, which no limit of one's own bounds.

Control groups would do it, and need rights that a marker does not have; so the keeper of a run looks
at /proc several times a second. See proc(5): the fields of /proc/PID/stat.
"""

import contextlib
import os

MOST_PROCESSES = 64
MOST_MEMORY = 8 * 2**30  # bytes, those shared with the warm process counted once for each
PAGE = os.sysconf("SC_PAGE_SIZE")
PARENT, RESIDENT = 1, 21  # after the name, which is in brackets and may hold anything


class Census:
    """A look at /proc, opened while it can still be seen."""

    def __init__(self) -> None:
        self._proc = os.open("/proc", os.O_RDONLY | os.O_DIRECTORY)

    def close(self) -> None:
        """Look no more; whoever is counted has to do this first."""
        os.close(self._proc)

    def exceeded(self, ancestor: int) -> bool:
        """Return whether a process and all that come from it are too many, or too big together."""
        parents, resident = self._all()
        family, grown = {ancestor}, True
        while grown:
            more = {pid for pid, parent in parents.items() if parent in family} - family
            family |= more
            grown = bool(more)
        memory = sum(resident.get(pid, 0) for pid in family)
        return len(family) > MOST_PROCESSES or memory > MOST_MEMORY

    def _all(self) -> tuple[dict[int, int], dict[int, int]]:
        """Return every process's parent, and its resident memory in bytes."""
        parents, resident = {}, {}
        for name in os.listdir(self._proc):  # noqa: PTH208 - a descriptor, not a path
            if name.isdigit():
                with contextlib.suppress(OSError):
                    fields = self._stat(name)
                    parents[int(name)] = int(fields[PARENT])
                    resident[int(name)] = int(fields[RESIDENT]) * PAGE
        return parents, resident

    def _stat(self, name: str) -> list[str]:
        file = os.open(f"{name}/stat", os.O_RDONLY, dir_fd=self._proc)
        try:
            return os.read(file, 4096).decode(errors="replace").rpartition(")")[2].split()
        finally:
            os.close(file)
