"""Watches an inbox: what is new and whole is graded, as often as a student is allowed, and given back."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from filelock import FileLock, Timeout
from watchfiles import watch as file_changes

from autograder.grading.loop import GradingLoop
from autograder.grading.pool import Pool
from autograder.model.course import Course
from autograder.model.errors import AutograderError, CourseError
from autograder.reports.publish import publish
from autograder.storage.attempts import ArrivalLog, Attempt, AttemptLog
from autograder.storage.exchange import CourseExchange
from autograder.storage.io_errors import ERRNOS, plain_io_errors
from autograder.submissions.submission import Submission
from autograder.watch.inbox import Arrival, Inbox, Settling, collect, owner_of

LOCK = "watch.lock"
GLANCE = 1.0  # seconds between two looks while something is being written
RESCAN = 10.0  # seconds between two looks otherwise: a network share reports no changes
SAME_NOTE = 3600.0  # seconds after which the same note may be given again


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


class ArrivalGrader:
    """Grades submissions that arrived, in a persistent pool, and gives their feedback back."""

    def __init__(self, course: Course, exchange: CourseExchange, pool: Pool) -> None:
        self.course, self.exchange, self.pool = course, exchange, pool
        self.log = ArrivalLog(course.reports)

    def grade(self, lesson: str, arrivals: Sequence[Arrival]) -> Iterator[Done]:
        """Grade submissions for one lesson, yield each when its feedback is back, and publish the reports.

        A submission is noted as taken care of after that, so that none is lost if this ends early.
        Raises AutograderErrors that would stop every submission alike.
        """
        with plain_io_errors(self.course):
            started = time.monotonic()
            loop = GradingLoop(self.course, lesson, sandboxed=self.pool.sandboxed)
            by_student = {arrival.student: arrival for arrival in arrivals}
            todo: list[Submission] = []
            for student, arrival in by_student.items():
                try:
                    collect(self.course, arrival)
                except OSError as error:
                    if error.errno in ERRNOS:  # the disk's fault, not the student's
                        raise
                    yield Done(arrival, problem=f"the folder cannot be read: {error.strerror}")
                    continue
                submission = loop.submission(student)
                if loop.is_settled(submission, AttemptLog(self.course.reports).last(student, lesson)):
                    yield self._finish(loop, arrival, None, started)
                else:
                    todo.append(submission)
            if todo:
                for recorded in loop.grade(self.pool, todo):
                    attempt = recorded.attempt
                    yield self._finish(loop, by_student[attempt.student], attempt, started)
            publish(self.course, self.course.lessons())

    def close(self) -> None:
        """End the workers, and write the log of attempts as JSON lines, as a class run does."""
        self.pool.close()
        AttemptLog(self.course.reports).export()

    def _finish(self, loop: GradingLoop, arrival: Arrival, attempt: Attempt | None, started: float) -> Done:
        """Make the page unless it is there already, give it back, and note the submission."""
        failed = loop.make_pages(loop.stale([arrival.student]))
        problem, returned = failed.get(arrival.student, ""), False
        if arrival.from_exchange and not problem:
            try:
                returned = self.exchange.return_feedback(arrival.student, arrival.lesson)
            except CourseError as error:
                problem = str(error)
        order = arrival.order if arrival.from_exchange else ""
        counted = attempt is not None
        self.log.add(arrival.key, arrival.student, arrival.lesson, order, counted=counted)
        return Done(arrival, attempt, time.monotonic() - started, returned, problem)


@dataclass
class Watch:
    """One watch over an inbox. `tell` gets what was graded, `note` a line about what was not.

    A student has `most` attempts an hour; `checks_owner` says whether folders of the exchange need the
    right owner.
    """

    inbox: Inbox
    grader: ArrivalGrader
    tell: Callable[[Done], None]
    note: Callable[[str], None]
    most: int
    checks_owner: bool = True
    settling: Settling = field(default_factory=Settling)
    _noted: dict[str, float] = field(default_factory=dict)
    _is_busy: bool = False  # whether something is still being written

    def run(self, stop: threading.Event, *, once: bool = False) -> None:
        """Grade what is there and what arrives, until `stop` is set; with `once`, only what is there.

        What the disk or the gradebook refuses is noted and tried again.
        """
        for _ in _looks(self.inbox, stop, lambda: self._is_busy):
            self._look(once=once)
            if once and not self._is_busy:
                return

    def _look(self, *, once: bool) -> None:
        """Look once: grade what can be graded now, and remember whether anything is being written."""
        for name in self.inbox.left_out():
            self._note_once(f"the folder '{name}' was left out: its name cannot be a student's")
        new = self._new()
        ready = [arrival for arrival in new if self.settling.is_whole(arrival)]
        self._is_busy = len(ready) < len(new)
        allowed = [arrival for arrival in ready if self._is_allowed(arrival)]
        for lesson in sorted({arrival.lesson for arrival in allowed}):
            self._grade(lesson, [a for a in allowed if a.lesson == lesson], once=once)

    def _grade(self, lesson: str, arrivals: Sequence[Arrival], *, once: bool) -> None:
        """Grade what arrived for one lesson; a lesson that cannot be graded holds up no other."""
        try:
            for done in self.grader.grade(lesson, arrivals):
                if done.attempt is None and done.problem:
                    self._note_once(f"{done.arrival}: {done.problem}")
                else:
                    self.settling.forget(done.arrival)
                    self.tell(done)
        except AutograderError as problem:
            if once:
                raise
            self._note_once(str(problem))

    def _new(self) -> list[Arrival]:
        """Return the submissions that nobody has taken care of, in the order in which to do so."""
        keys, newest = self.grader.log.keys(), self.grader.log.newest()
        return [
            arrival
            for arrival in self.inbox.newest()
            if arrival.key not in keys
            and not (arrival.from_exchange and arrival.order <= newest.get(arrival.place, ""))
            and self._has_its_owner(arrival)
        ]

    def _has_its_owner(self, arrival: Arrival) -> bool:
        """Return whether the folder is the student's own, so that nobody hands in for another."""
        if not (arrival.from_exchange and self.checks_owner):
            return True
        owner = owner_of(arrival)
        if owner == arrival.student:
            return True
        self._note_once(
            f"{arrival}: left alone, because the folder belongs to '{owner or 'an unknown user'}'; "
            "if your users share one account, set c.ExchangeCollect.check_owner = False"
        )
        return False

    def _is_allowed(self, arrival: Arrival) -> bool:
        """Return whether the student has an attempt left in this hour; if not, it waits."""
        wait = self.grader.log.wait(arrival.student, self.most)
        if wait:
            at = time.strftime("%H:%M", time.localtime(time.time() + wait))
            self._note_once(f"{arrival}: waits until {at} ({self.most} attempts an hour)")
        return not wait

    def _note_once(self, line: str) -> None:
        now = time.monotonic()
        if now - self._noted.get(line, -SAME_NOTE) >= SAME_NOTE:
            self.note(line)
            self._noted[line] = now


def _looks(inbox: Inbox, stop: threading.Event, is_busy: Callable[[], bool]) -> Iterator[None]:
    """Yield whenever it is time to look: at once, after a change, and every few seconds."""
    yield
    last = time.monotonic()
    for changes in file_changes(
        inbox.folder,
        watch_filter=None,
        debounce=400,
        stop_event=stop,
        rust_timeout=int(GLANCE * 1000),
        yield_on_timeout=True,
        raise_interrupt=False,
        ignore_permission_denied=True,
    ):
        if changes or is_busy() or time.monotonic() - last >= RESCAN:
            yield
            last = time.monotonic()


@contextmanager
def only_one(course: Course) -> Iterator[None]:
    """Hold the course's lock, so that no two watches grade the same submission.

    Raises CourseError if another one holds it. The lock ends with its process, however that ends.
    """
    course.reports.mkdir(parents=True, exist_ok=True)
    try:
        held = FileLock(course.reports / LOCK, timeout=0).acquire()
    except Timeout:
        raise CourseError(
            f"another 'autograder watch' is at work on {course.root}; stop that one first"
        ) from None
    with held:
        yield
