"""Huge pages for the memory that runs share: a fork copies an entry for each page, so fewer are faster.

With pages of 2 MB, a fork of 180 MB and its end took 3.8 ms instead of 7.2 (Linux 6.18). Where a run
writes, the kernel copies 4 kB, as ever. Needs Linux 6.1 (`madvise(2)`, MADV_COLLAPSE); elsewhere nothing
changes.
"""

import contextlib
import ctypes
import re
from pathlib import Path
from typing import Final

COLLAPSE: Final = 25  # MADV_COLLAPSE, which no module of Python names
HUGE: Final = 1 << 21  # bytes
PRIVATE: Final = re.compile(r"([0-9a-f]+)-([0-9a-f]+) rw-p 0+ 00:00 0\s*(\[heap\])?$")


def collapse_memory(maps: Path = Path("/proc/self/maps")) -> int:
    """Move the private memory of this process to huge pages, and return how many areas were moved.

    Takes some tenths of a second for 180 MB, so it is worth it before many forks, not before a few.
    """
    madvise = ctypes.CDLL(None).madvise
    madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    moved = 0
    with contextlib.suppress(OSError):
        for area in filter(None, map(PRIVATE.match, maps.read_text().splitlines())):
            start = -(-int(area[1], 16) // HUGE) * HUGE
            size = int(area[2], 16) // HUGE * HUGE - start
            moved += size > 0 and madvise(start, size, COLLAPSE) == 0
    return moved
