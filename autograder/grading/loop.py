"""The one loop of grading: what is settled is skipped, the rest is graded and recorded, and pages follow.

A class run, the watch, `nbgrader autograde` and a regrade all go through here, on this machine or on a
cluster. They differ in where submissions come from, and in which pool grades them.
"""

from collections.abc import Generator, Iterable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass

from nbformat import NotebookNode

from autograder.grading.grade_submission import Result
from autograder.grading.pool import Pool
from autograder.grading.version import lesson_version
from autograder.model.course import Course
from autograder.reports import feedback_exporter
from autograder.reports.graded_notebook import graded_page
from autograder.storage.attempts import Attempt
from autograder.storage.gradebook import Withdrawn
from autograder.storage.recorder import Recorder, stored_attempt
from autograder.submissions.released import fingerprint
from autograder.submissions.submission import Submission

ALONE = 16  # this many pages take less time than a second process needs to start


@dataclass(frozen=True)
class Recorded:
    """A recorded attempt, and the scores given by hand that it withdrew."""

    attempt: Attempt
    withdrawn: list[Withdrawn]


class GradingLoop:
    """Grades submissions for one lesson as it is now, and records what they get.

    Raises CourseError if the lesson has no text or was never released.
    """

    def __init__(self, course: Course, lesson: str, *, sandboxed: bool = True) -> None:
        self.course, self.lesson, self.sandboxed = course, lesson, sandboxed
        self.version = lesson_version(course, lesson)

    def submission(self, student: str) -> Submission:
        """Return a student's submission, to be graded by the lesson's current version."""
        return Submission(self.course, student, self.lesson, self.version)

    def is_settled(self, submission: Submission, newest: Attempt | None) -> bool:
        """Return whether the student's `newest` attempt graded the submission as it is now.

        The attempt also has to be the one in the autograded folder, which is written last: then it was
        recorded completely.
        """
        if newest is None:
            return False
        same = newest.settles(submission.sha256(), self.version, sandboxed=self.sandboxed)
        return same and newest == stored_attempt(self.course, submission.student, self.lesson)

    def register(self) -> None:
        """Make sure that the gradebook knows the lesson; see `authoring.release.register`."""
        from autograder.authoring.release import register  # takes half a second to import

        register(self.course, self.lesson)

    def page(self, attempt: Attempt, notebook: NotebookNode) -> NotebookNode:
        """Return the aligned notebook with the attempt and its feedback in it."""
        return graded_page(notebook, attempt, fingerprint(self.course, self.lesson).texts)

    def grade(self, pool: Pool, todo: Sequence[Submission]) -> Generator[Recorded, None, None]:
        """Grade submissions, and yield each when it is recorded, in any order.

        Raises the AutograderErrors that would stop every submission alike.
        """
        with closing(pool.grade_all(todo)) as results:
            yield from self.record(results)

    def record(self, results: Iterable[Result]) -> Generator[Recorded, None, None]:
        """Write each result into the gradebook, the log and the autograded folder as it comes."""
        recorder = None
        with ExitStack() as stack:
            for attempt, notebook in results:
                if recorder is None:  # now, while the pool grades the next ones
                    self.register()
                    recorder = stack.enter_context(Recorder(self.course))
                yield Recorded(attempt, recorder.keep(attempt, self.page(attempt, notebook)))

    def stale(self, students: Iterable[str]) -> list[str]:
        """Return the students whose pages are absent or older than the scores."""
        return [name for name in students if feedback_exporter.is_stale(self.course, name, self.lesson)]

    def make_pages(self, students: Sequence[str], pool: Pool | None = None) -> dict[str, str]:
        """Make these students' pages, in the workers of a pool where that pays.

        Returns what went wrong, by student.
        """
        if pool is None or not (pool.is_running or len(students) > ALONE):
            return feedback_exporter.generate(self.course, self.lesson, students)
        return feedback_exporter.generate(
            self.course, self.lesson, students, workers=pool.workers, spread=pool.spread
        )
