"""Grades submissions that arrived, records them as a class run does, and gives the feedback back."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from autograder.authoring.release import register
from autograder.grading.pool import MakeGrader, make_grader
from autograder.grading.version import lesson_version
from autograder.model.course import Course
from autograder.model.errors import CourseError
from autograder.reports import feedback_exporter
from autograder.reports.graded_notebook import graded_page
from autograder.reports.publish import publish
from autograder.storage.arrivals import ArrivalLog
from autograder.storage.attempts import Attempt, AttemptLog
from autograder.storage.exchange import CourseExchange
from autograder.storage.io_errors import ERRNOS, plain_io_errors
from autograder.storage.recorder import Recorder
from autograder.submissions.released import fingerprint
from autograder.submissions.submission import Submission
from autograder.watch.collect import collect
from autograder.watch.inbox import Arrival
from autograder.watch.warm_pool import WarmPool


@dataclass(frozen=True)
class Done:
    """One submission that was taken care of.

    `returned` says whether its feedback went back through the exchange, `problem` what went wrong with
    the feedback; the scores are recorded in any case. `attempt` is None if there was nothing new in it,
    or if it could not be read, which is tried again.
    """

    arrival: Arrival
    attempt: Attempt | None = None
    seconds: float = 0.0
    returned: bool = False
    problem: str = ""


class Desk:
    """Grades what it is given, with `workers` processes."""

    def __init__(
        self,
        course: Course,
        exchange: CourseExchange,
        *,
        sandboxed: bool = True,
        workers: int = 1,
        make: MakeGrader = make_grader,
    ) -> None:
        self.course, self.exchange, self.sandboxed = course, exchange, sandboxed
        self.pool = WarmPool(course, workers, sandboxed=sandboxed, make=make)
        self.log = ArrivalLog(course.reports)

    def grade(self, lesson: str, arrivals: Sequence[Arrival]) -> Iterator[Done]:
        """Grade submissions for one lesson, and yield each when its feedback is back.

        A submission is noted as taken care of after that, so that none is lost if this ends early.
        Raises AutograderErrors that would stop every submission alike.
        """
        with plain_io_errors(self.course):
            yield from self._grade(lesson, arrivals)

    def publish(self) -> None:
        """Write the instructor's reports anew."""
        with plain_io_errors(self.course):
            publish(self.course, self.course.lessons())

    def close(self) -> None:
        """End the workers, and write the log of attempts as JSON lines, as a class run does."""
        self.pool.close()
        AttemptLog(self.course.reports).export()

    def _grade(self, lesson: str, arrivals: Sequence[Arrival]) -> Iterator[Done]:
        started = time.monotonic()
        version = lesson_version(self.course, lesson)
        by_student = {arrival.student: arrival for arrival in arrivals}
        todo = []
        for student, arrival in by_student.items():
            if problem := _collected(self.course, arrival):
                yield Done(arrival, problem=problem)
                continue
            submission = Submission(self.course, student, lesson, version)
            if self._is_settled(submission):
                yield self._note(Done(arrival))
            else:
                todo.append(submission)
        if todo:
            register(self.course, lesson)
            for attempt in self._attempts(lesson, todo):
                yield self._finish(by_student[attempt.student], attempt, started)

    def _is_settled(self, submission: Submission) -> bool:
        """Return whether the file was graded before, as it is and by the checks of today."""
        last = AttemptLog(self.course.reports).last(submission.student, submission.lesson)
        digest = submission.sha256()
        return last is not None and last.settles(digest, submission.version, sandboxed=self.sandboxed)

    def _attempts(self, lesson: str, todo: Sequence[Submission]) -> Iterator[Attempt]:
        """Yield each attempt when it is recorded."""
        texts = fingerprint(self.course, lesson).texts
        with Recorder(self.course) as recorder:
            for attempt, notebook in self.pool.grade_all(todo):
                recorder.keep(attempt, graded_page(notebook, attempt, texts))
                yield attempt

    def _finish(self, arrival: Arrival, attempt: Attempt, started: float) -> Done:
        """Make the page, give it back, and note the submission."""
        failed = feedback_exporter.generate(self.course, arrival.lesson, [arrival.student])
        problem, returned = failed.get(arrival.student, ""), False
        if arrival.from_exchange and not problem:
            try:
                returned = self.exchange.return_feedback(arrival.student, arrival.lesson)
            except CourseError as error:
                problem = str(error)
        seconds = time.monotonic() - started
        return self._note(Done(arrival, attempt, seconds, returned, problem))

    def _note(self, done: Done) -> Done:
        arrival, counted = done.arrival, done.attempt is not None
        order = arrival.order if arrival.from_exchange else ""
        self.log.add(arrival.key, arrival.student, arrival.lesson, order, counted=counted)
        return done


def _collected(course: Course, arrival: Arrival) -> str:
    """Copy a submission to its place; return what went wrong, or ""."""
    try:
        collect(course, arrival)
    except OSError as error:
        if error.errno in ERRNOS:  # the disk's fault, not the student's
            raise
        return f"the folder cannot be read: {error.strerror}"
    return ""
