"""Worker processes that stay ready between submissions: importing torch takes longer than grading."""

from collections.abc import Iterator, Sequence
from concurrent.futures import Future, as_completed
from multiprocessing import get_context

from pebble import ProcessPool

from autograder.grading.grade_submission import Result
from autograder.grading.pool import (
    DEATHS,
    MAX_SECONDS,
    MakeGrader,
    Pool,
    grade_in_worker,
    worker_grader,
)
from autograder.model.course import Course
from autograder.probe.isolate import die_with_parent
from autograder.submissions.submission import Submission


class WarmPool:
    """Grades submissions in `workers` processes, which are kept.

    They are started anew when a lesson or the grader has changed, so that a watch of many weeks grades
    with the checks of today. A submission whose worker dies is graded again as a class run does it.
    """

    def __init__(self, course: Course, workers: int, *, sandboxed: bool, make: MakeGrader) -> None:
        self.course, self.workers, self.sandboxed, self.make = course, workers, sandboxed, make
        self._pool: ProcessPool | None = None
        self._versions: dict[str, str] = {}  # of the lessons that this pool has graded

    def warm_up(self) -> None:
        """Start the workers, so that the first submission need not wait for them."""
        pool = self._started()
        for _ in range(self.workers):
            pool.schedule(_ready, (self.make, self.course, self.sandboxed))

    def grade_all(self, submissions: Sequence[Submission]) -> Iterator[Result]:
        """Yield each submission's attempt and aligned notebook as it is done, in any order.

        Raises the AutograderErrors that would stop every submission alike.
        """
        self._follow(submissions)
        out = {self._schedule(submission): submission for submission in submissions}
        again = []
        for future in as_completed(out):
            if isinstance(future.exception(), DEATHS):
                again.append(out[future])
            else:
                yield future.result()
        if again:
            yield from Pool(1, sandboxed=self.sandboxed, make=self.make).grade_all(again)

    def close(self) -> None:
        """End the workers."""
        if self._pool is not None:
            self._pool.stop()
            self._pool.join()
            self._pool = None

    def _follow(self, submissions: Sequence[Submission]) -> None:
        """Start anew if a lesson has another version than when it was graded last."""
        versions = {submission.lesson: submission.version for submission in submissions}
        if any(self._versions.get(name, now) != now for name, now in versions.items()):
            self.close()
            self._versions = {}
        self._versions |= versions

    def _schedule(self, submission: Submission) -> Future[Result]:
        task = (self.make, self.sandboxed, submission)
        try:
            return self._started().schedule(grade_in_worker, task, timeout=MAX_SECONDS)
        except RuntimeError:  # a worker died in a way that broke the pool
            self.close()
            return self._started().schedule(grade_in_worker, task, timeout=MAX_SECONDS)

    def _started(self) -> ProcessPool:
        if self._pool is None:
            context = get_context("spawn")
            self._pool = ProcessPool(self.workers, context=context, initializer=die_with_parent)
        return self._pool


def _ready(make: MakeGrader, course: Course, sandboxed: bool) -> None:
    """Make the grader of this worker."""
    worker_grader(make, course, sandboxed)
