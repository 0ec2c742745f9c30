"""Grades many submissions at once, and searches them for lines, in worker processes that may die.

A submission whose worker dies, or that takes too long, is graded again alone. If that fails too, it is
left to a person. The other submissions are not affected.
"""

import gc
import os
import signal
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager
from functools import cache, partial
from itertools import islice
from multiprocessing import get_context
from multiprocessing.util import Finalize
from types import FrameType
from typing import TYPE_CHECKING, Self, TypeVar

from pebble import CONSTS, ProcessExpired, ProcessPool

from autograder.grading.grade_submission import Result, grade_submission, ungraded
from autograder.model.attempt import Attempt
from autograder.model.course import Course
from autograder.probe.isolate import die_with_parent
from autograder.sandbox.start import start
from autograder.submissions.submission import Submission

if TYPE_CHECKING:
    from autograder.grading.grader import Grader

MAX_SECONDS = 900.0  # for one submission; the grader's own limits end it long before
CONSTS.term_timeout = 10.0  # seconds for a worker to close its grader on a busy machine
DEATHS = (ProcessExpired, BrokenProcessPool, TimeoutError)

R = TypeVar("R")
MakeGrader = Callable[[Course, bool], "Grader"]


def make_grader(course: Course, sandboxed: bool) -> "Grader":
    """Return the real grader. Its warm process imports torch while this one does; both take seconds."""
    started = start(sandboxed=sandboxed)
    try:
        from autograder.grading.grader import Grader

        grader = Grader(course, sandboxed=sandboxed, started=started)
    except BaseException:
        started.close()
        raise
    gc.freeze()  # so that no garbage collection scans torch
    return grader


class Pool:
    """Grades submissions in `workers` processes, by default one per core.

    Each worker calls `make` once, and grades with what it gives, for at most `seconds` a submission. Workers
    start when they are needed and stay until the pool is closed, because importing torch takes longer than
    grading: use it in a `with`. They are replaced when a lesson or the grader has changed, so that a watch
    of many weeks grades with the checks of today.
    """

    def __init__(
        self,
        workers: int | None = None,
        *,
        sandboxed: bool,
        make: MakeGrader = make_grader,
        seconds: float = MAX_SECONDS,
    ) -> None:
        self.workers = workers or len(os.sched_getaffinity(0))
        self.sandboxed, self.make, self.seconds = sandboxed, make, seconds
        self._workers: ProcessPool | None = None
        self._versions: dict[str, str] = {}  # of the lessons that these workers have graded

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the workers, each of which closes its grader."""
        if self._workers is not None:
            self._workers.stop()
            self._workers.join()
            self._workers = None

    def warm_up(self, course: Course) -> None:
        """Have the workers make their graders, before the first submission comes."""
        with self._processes(self.workers) as processes:
            for _ in range(self.workers):
                processes.schedule(_worker_grader, (self.make, course, self.sandboxed))

    def grade_all(self, submissions: Sequence[Submission]) -> Generator[Result, None, None]:
        """Yield each submission's attempt and aligned notebook as it is done, in any order.

        Raises the AutograderErrors that would stop every submission alike.
        """
        self._renew(submissions)
        again = []
        with closing(self._results(submissions, self.workers)) as results:
            for submission, result in results:
                if result is None:
                    again.append(submission)
                else:
                    yield result
        for submission in again:
            for _, result in self._results([submission], 1):
                yield result or self.given_up(submission)

    def find_lines(self, graded: Sequence[Submission]) -> Iterator[Attempt]:
        """Yield the attempts of `graded` submissions with the lines to blame; none where the worker died."""
        for _, result in self._results(graded, self.workers) if graded else ():
            if result is not None:
                yield result[0]

    def begin(self, submission: Submission) -> "Future[Result]":
        """Begin to grade one submission, or to search a `graded` one, and return at once.

        The future's exception is one of `DEATHS` if the worker died or took too long. Nothing else may be
        graded at the moment if `is_outdated`.
        """
        self._renew([submission])
        with self._processes(self.workers) as processes:
            return self._schedule(processes, submission)

    def is_outdated(self, submission: Submission) -> bool:
        """Return whether the workers have imported the lesson's checks of an earlier day."""
        return self._versions.get(submission.lesson, submission.version) != submission.version

    def _renew(self, submissions: Sequence[Submission]) -> None:
        if any(map(self.is_outdated, submissions)):
            self.close()
            self._versions.clear()
        self._versions |= {submission.lesson: submission.version for submission in submissions}

    def _results(
        self, submissions: Iterable[Submission], workers: int
    ) -> Generator[tuple[Submission, Result | None], None, None]:
        """Yield each submission with its result, or with None if its worker died or took too long."""
        with self._processes(workers) as processes:
            schedule, room = partial(self._schedule, processes), 2 * workers
            for submission, future in as_graded(submissions, schedule, lambda: room):
                died = isinstance(future.exception(), DEATHS)
                yield submission, None if died else future.result()

    @contextmanager
    def _processes(self, workers: int) -> Iterator[ProcessPool]:
        """Give the pool's workers, or as many new ones as are asked for: what is graded again is alone."""
        if workers != self.workers:
            pool = _start(workers)
            try:
                yield pool
            finally:
                pool.stop()
                pool.join()
            return
        if self._workers is None or not self._workers.active:
            self._workers = _start(workers)
        try:
            yield self._workers
        except BaseException:  # what was left behind would come in between later
            self.close()
            raise

    def _schedule(self, processes: ProcessPool, submission: Submission) -> Future[Result]:
        task = (self.make, self.sandboxed, submission)
        try:
            future: Future[Result] = processes.schedule(_grade_in_worker, task, timeout=self.seconds)
        except RuntimeError as problem:  # a worker died in a way that broke the pool
            future = Future[Result]()
            future.set_exception(BrokenProcessPool(str(problem)))
        return future

    def given_up(self, submission: Submission) -> Result:
        """Return the result of a submission of which two workers died: it is left to a person."""
        detail = f"the grading process died twice, or took longer than {self.seconds:g} s"
        return ungraded(submission, submission.sha256(), detail, sandboxed=self.sandboxed)


def as_graded(
    submissions: Iterable[Submission], schedule: Callable[[Submission], "Future[R]"], room: Callable[[], int]
) -> Iterator[tuple[Submission, "Future[R]"]]:
    """Schedule submissions, and yield each with its future when that is done.

    At most as many as there is `room` for are out at any time, so that an interrupted run loses little.
    """
    waiting, out = iter(submissions), dict[Future[R], Submission]()
    while True:
        for submission in islice(waiting, max(0, room() - len(out))):
            out[schedule(submission)] = submission
        if not out:
            return
        for future in wait(out, return_when=FIRST_COMPLETED).done:
            yield out.pop(future), future


def _start(workers: int) -> ProcessPool:
    return ProcessPool(workers, context=get_context("spawn"), initializer=die_with_parent)


def _grade_in_worker(make: MakeGrader, sandboxed: bool, submission: Submission) -> Result:
    grader = _grader(make, submission.course, sandboxed)
    return grade_submission(grader, submission, sandboxed=sandboxed)


def _worker_grader(make: MakeGrader, course: Course, sandboxed: bool) -> None:
    """Make the grader of this worker, which is too much to send back."""
    _grader(make, course, sandboxed)


@cache
def _grader(make: MakeGrader, course: Course, sandboxed: bool) -> "Grader":
    """Return this worker's grader, which is closed when the worker ends.

    A pool that stops closes its pipes, at which an idle worker begins to exit, and sends SIGTERM right after.
    Pebble's handler of the signal then ends the worker at once, in the middle of what it does at its exit.
    So each of the two closes the grader here, and no signal cuts that short.
    """
    grader = make(course, sandboxed)
    exit_at_once = signal.getsignal(signal.SIGTERM)

    def close() -> None:
        # SIG_IGN would not do: if a signal has arrived and its handler has not run yet, Python then prints
        # the error "Signal 15 ignored due to race condition".
        signal.signal(signal.SIGTERM, lambda *_: None)
        grader.close()

    def close_and_exit(number: int, frame: FrameType | None) -> None:
        close()
        assert callable(exit_at_once)
        exit_at_once(number, frame)

    # workers run multiprocessing's finalizers, but not functions registered with atexit
    Finalize(None, close, exitpriority=10)
    signal.signal(signal.SIGTERM, close_and_exit)
    return grader
