"""Limits of time, kept inside the process that they are about."""

import contextlib
import signal
import time
from collections.abc import Iterator


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

    Code can switch this off. The grader counts as well, from outside (`sandbox.run`).
    """
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield Stopwatch()
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
