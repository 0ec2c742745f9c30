"""Limits of time, kept inside the process that they are about."""

import contextlib
import signal
import time
from collections.abc import Iterator

# Time on the clock counts as a limit only from several times what was allowed in processor time, so
# that code which computes gets the same on a busy machine as on an idle one.
WALL_FACTOR = 6.0


class Stopwatch:
    """Measures the processor time of this process, of all its threads."""

    def __init__(self) -> None:
        self._started = time.process_time()

    @property
    def seconds(self) -> float:
        """The processor time used since this was made."""
        return time.process_time() - self._started


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[Stopwatch]:
    """End this process after `seconds` of processor time, even inside a C loop.

    SIGPROF ends it then, and SIGALRM after `WALL_FACTOR` times as long on the clock: it waits for
    something, or the machine is very busy.
    """
    limits = (
        (signal.ITIMER_PROF, signal.SIGPROF, seconds),
        (signal.ITIMER_REAL, signal.SIGALRM, seconds * WALL_FACTOR),
    )
    for timer, number, limit in limits:
        signal.signal(number, signal.SIG_DFL)
        signal.setitimer(timer, limit)
    try:
        yield Stopwatch()
    finally:
        for timer, _, _ in limits:
            signal.setitimer(timer, 0)
