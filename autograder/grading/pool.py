"""Grades many submissions at once, in worker processes that may die.

A submission whose worker dies, or that takes too long, is graded again alone. If that fails too, it is
left to a person. The other submissions are not affected.
"""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager
from functools import cache
from itertools import islice
from multiprocessing import get_context
from multiprocessing.util import Finalize
from typing import TYPE_CHECKING, Self, TypeVar

from pebble import CONSTS, ProcessExpired, ProcessPool

from autograder.grading.grade_submission import Result, grade_submission, ungraded
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

        return Grader(course, sandboxed=sandboxed, started=started)
    except BaseException:
        started.close()
        raise


class Pool:
    """Grades submissions in `workers` processes.

    Each worker calls `make` once, and grades with what it gives, for at most `seconds` a submission. The
    workers end with each call of `grade_all`, or with the block of `kept`.
    """

    def __init__(
        self, workers: int, *, sandboxed: bool, make: MakeGrader = make_grader, seconds: float = MAX_SECONDS
    ) -> None:
        self.workers, self.sandboxed, self.make, self.seconds = workers, sandboxed, make, seconds
        self.keeps = False  # whether workers are kept from one call to the next
        self._kept: ProcessPool | None = None

    @contextmanager
    def kept(self) -> Iterator[Self]:
        """Keep the workers from one call to the next: importing torch takes longer than grading."""
        self.keeps = True
        try:
            yield self
        finally:
            self.keeps = False
            if self._kept is not None:
                _end(self._kept)
                self._kept = None

    def warm_up(self, course: Course) -> None:
        """Have workers that are kept make their graders, before the first submission comes."""
        with self._processes(self.workers) as processes:
            for _ in range(self.workers):
                processes.schedule(_ready, (self.make, course, self.sandboxed))

    def grade_all(self, submissions: Iterable[Submission]) -> Generator[Result, None, None]:
        """Yield each submission's attempt and aligned notebook as it is done, in any order.

        Raises the AutograderErrors that would stop every submission alike.
        """
        again = []
        with closing(self._results(submissions, self.workers)) as results:
            for submission, result in results:
                if result is None:
                    again.append(submission)
                else:
                    yield result
        for submission in again:
            for _, result in self._results([submission], 1):
                yield result or self._given_up(submission)

    @property
    def is_running(self) -> bool:
        """Whether workers are kept, and have started."""
        return self._kept is not None

    def spread(self, function: Callable[..., R], tasks: Sequence[tuple[object, ...]]) -> Iterator[R | None]:
        """Call a function on each tuple of arguments, and yield what comes; None where its worker died."""
        with self._processes(self.workers) as processes:
            for future in [processes.schedule(function, task) for task in tasks]:
                died = isinstance(future.exception(), DEATHS)
                yield None if died else future.result()

    def _results(
        self, submissions: Iterable[Submission], workers: int
    ) -> Generator[tuple[Submission, Result | None], None, None]:
        """Yield each submission with its result, or with None if its worker died or took too long.

        At most two submissions a worker are out at any time.
        """
        waiting, out = iter(submissions), dict[Future[Result], Submission]()
        with self._processes(workers) as pool:
            while True:
                for submission in islice(waiting, 2 * workers - len(out)):
                    out[self._schedule(pool, submission)] = submission
                if not out:
                    return
                for future in wait(out, return_when=FIRST_COMPLETED).done:
                    died = isinstance(future.exception(), DEATHS)
                    yield out.pop(future), None if died else future.result()

    @contextmanager
    def _processes(self, workers: int) -> Iterator[ProcessPool]:
        """Give the workers that are kept, or new ones: also for what is graded again alone."""
        if not self.keeps or workers != self.workers:
            pool = _start(workers)
            try:
                yield pool
            finally:
                _end(pool)
            return
        if self._kept is None or not self._kept.active:
            self._kept = _start(workers)
        try:
            yield self._kept
        except BaseException:  # what was left behind would come in between later
            _end(self._kept)
            self._kept = None
            raise

    def _schedule(self, pool: ProcessPool, submission: Submission) -> Future[Result]:
        task = (self.make, self.sandboxed, submission)
        try:
            return pool.schedule(grade_in_worker, task, timeout=self.seconds)
        except RuntimeError as problem:  # a worker died in a way that broke the pool
            broken = Future[Result]()
            broken.set_exception(BrokenProcessPool(str(problem)))
            return broken

    def _given_up(self, submission: Submission) -> Result:
        detail = f"the grading process died twice, or took longer than {self.seconds:g} s"
        return ungraded(submission, submission.sha256(), detail, sandboxed=self.sandboxed)


def _start(workers: int) -> ProcessPool:
    return ProcessPool(workers, context=get_context("spawn"), initializer=die_with_parent)


def _end(pool: ProcessPool) -> None:
    pool.stop()
    pool.join()


def grade_in_worker(make: MakeGrader, sandboxed: bool, submission: Submission) -> Result:
    """Grade one submission in a worker."""
    grader = worker_grader(make, submission.course, sandboxed)
    return grade_submission(grader, submission, sandboxed=sandboxed)


@cache
def worker_grader(make: MakeGrader, course: Course, sandboxed: bool) -> "Grader":
    """Return this worker's grader, which is closed when the worker ends."""
    grader = make(course, sandboxed)
    # workers run multiprocessing's finalizers, but not functions registered with atexit
    Finalize(None, grader.close, exitpriority=10)
    return grader


def _ready(make: MakeGrader, course: Course, sandboxed: bool) -> None:
    """Make the grader of this worker."""
    worker_grader(make, course, sandboxed)
