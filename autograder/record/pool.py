"""Marking many submissions at once, in processes that may die.

At any time only few submissions are out: two for each worker. When a worker dies, every submission
that was out is tried once more, one at a time: one that kills its worker then twice is left to a person,
the others lose nothing.
"""

import faulthandler
import os
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context, parent_process
from multiprocessing.process import BaseProcess
from multiprocessing.util import Finalize
from threading import Thread
from typing import Any, ClassVar

from autograder.course import Course
from autograder.record.handed import Handed
from autograder.record.marking import Marking, Result, fault, mark

LIMIT = 900  # seconds for one submission; the marker's own limits end it long before

MakeMarker = Callable[[Course, bool], Any]  # gives a context manager that gives a Marking


def make_marker(course: Course, sandboxed: bool) -> Any:
    """Return the real marker; imported here because it brings torch along."""
    from autograder.marker import Marker

    return Marker(course, sandboxed=sandboxed)


class Pool:
    """Marks submissions in `workers` processes."""

    def __init__(
        self, workers: int, *, sandboxed: bool, make: MakeMarker = make_marker, limit: float = LIMIT
    ) -> None:
        """Take what each worker needs: `make` is called once in each, by name."""
        self.workers, self.sandboxed, self.make, self.limit = workers, sandboxed, make, limit

    def mark_all(self, submissions: Iterable[Handed]) -> Generator[Result, None, None]:
        """Yield each submission's attempt and aligned notebook as it is done, in any order.

        Raises the AutograderErrors that would stop every submission alike.
        """
        waiting = deque(submissions)
        while waiting:
            suspects = yield from self._until_a_death(waiting, self.workers, at_once=2)
            again, killers = deque(suspects), set[str]()
            while again:
                for suspect in (yield from self._until_a_death(again, 1, at_once=1)):
                    if suspect.student in killers:
                        yield self._given_up(suspect)
                    else:  # alone, and for the first time: it may have been bad luck
                        killers.add(suspect.student)
                        again.appendleft(suspect)

    def _until_a_death(
        self, waiting: deque[Handed], workers: int, at_once: int
    ) -> Generator[Result, None, list[Handed]]:
        """Mark from the left until all are done or a worker dies; return what was out then."""
        out: dict[Future[Result], Handed] = {}
        pool = self._fresh(min(workers, len(waiting)))
        try:
            while waiting or out:
                while waiting and len(out) < at_once * workers:
                    out[pool.submit(_mark, waiting[0])] = waiting[0]
                    waiting.popleft()
                done = wait(out, return_when=FIRST_COMPLETED).done
                for future in [one for one in out if one in done]:
                    result = future.result()
                    del out[future]
                    yield result
        except BrokenProcessPool:
            return list(out.values())
        finally:
            pool.shutdown(cancel_futures=True)
        return []

    def _given_up(self, handed: Handed) -> Result:
        """Leave a submission to a person that ended two processes."""
        detail = f"the marking process died twice, or took longer than {self.limit:g} s"
        return fault(handed, handed.sha256(), detail, sandboxed=self.sandboxed)

    def _fresh(self, workers: int) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(
            workers,
            mp_context=get_context("spawn"),
            initializer=_prepare,
            initargs=(self.make, self.sandboxed, self.limit),
        )


class _Worker:
    """What a worker process keeps between submissions."""

    make: ClassVar[MakeMarker]
    sandboxed: ClassVar[bool]
    limit: ClassVar[float]
    marker: ClassVar[Marking | None] = None


def _prepare(make: MakeMarker, sandboxed: bool, limit: float) -> None:
    """Note what the worker will need; a marker that cannot start is told by the first task."""
    end_with_parent()
    _Worker.make, _Worker.sandboxed, _Worker.limit = staticmethod(make), sandboxed, limit


def end_with_parent() -> None:
    """Make this worker end when the run that started it is gone, killed perhaps.

    Otherwise it would wait for work for ever: it holds the other end of its own queue open.
    """
    parent = parent_process()
    if parent is not None:
        Thread(target=_outlive, args=(parent,), daemon=True).start()


def _outlive(parent: BaseProcess) -> None:
    parent.join()
    os._exit(1)


def _mark(handed: Handed) -> Result:
    """Mark one submission in a worker. One that takes too long ends the worker."""
    faulthandler.dump_traceback_later(_Worker.limit, exit=True)
    try:
        return mark(_marker(handed.course), handed, sandboxed=_Worker.sandboxed)
    finally:
        faulthandler.cancel_dump_traceback_later()


def _marker(course: Course) -> Marking:
    """Return this worker's one marker, closed when the worker ends."""
    if _Worker.marker is None:
        context = _Worker.make(course, _Worker.sandboxed)
        _Worker.marker = context.__enter__()
        # a worker ends without running atexit's functions, but it runs multiprocessing's own
        Finalize(None, context.__exit__, args=(None, None, None), exitpriority=10)
    return _Worker.marker
