"""Worker processes that stay ready between submissions: importing torch takes longer than grading."""

from collections.abc import Generator, Sequence
from contextlib import ExitStack

from autograder.grading.grade_submission import Result
from autograder.grading.pool import MakeGrader, Pool
from autograder.model.course import Course
from autograder.submissions.submission import Submission


class WarmPool:
    """Grades submissions in `workers` processes, which are kept.

    They are started anew when a lesson or the grader has changed, so that a watch of many weeks grades
    with the checks of today. A submission whose worker dies is graded again as a class run does it.
    """

    def __init__(self, course: Course, workers: int, *, sandboxed: bool, make: MakeGrader) -> None:
        self.course = course
        self._pool = Pool(workers, sandboxed=sandboxed, make=make)
        self._kept = ExitStack()
        self._versions: dict[str, str] = {}  # of the lessons that these workers have graded

    def warm_up(self) -> None:
        """Start the workers, so that the first submission need not wait for them."""
        self._keep()
        self._pool.warm_up(self.course)

    def grade_all(self, submissions: Sequence[Submission]) -> Generator[Result, None, None]:
        """Yield each submission's attempt and aligned notebook as it is done, in any order.

        Raises the AutograderErrors that would stop every submission alike.
        """
        self._follow(submissions)
        yield from self._pool.grade_all(submissions)

    def close(self) -> None:
        """End the workers."""
        self._kept.close()

    def _follow(self, submissions: Sequence[Submission]) -> None:
        """Start anew if a lesson has another version than when it was graded last."""
        versions = {submission.lesson: submission.version for submission in submissions}
        if any(self._versions.get(name, now) != now for name, now in versions.items()):
            self.close()
            self._versions = {}
        self._versions |= versions
        self._keep()

    def _keep(self) -> None:
        if not self._pool.keeps:
            self._kept.enter_context(self._pool.kept())
