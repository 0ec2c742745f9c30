"""Watches an inbox: what is new and whole is graded, as often as a student is allowed, and given back.

Students take turns: the one who had the fewest in the last hour is next. Most submissions take seconds; one
that takes longer goes to a worker of its own. It also looks for the lines to blame, once the feedback is
back; the page is given back again if it has found any.
"""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace

from watchfiles import watch as file_changes

from autograder.grading.grade_submission import Result
from autograder.grading.loop import GradingLoop, Recorded
from autograder.grading.pool import DEATHS, Pool
from autograder.model.attempt import Attempt
from autograder.model.course import Course
from autograder.model.errors import AutograderError, CourseError
from autograder.model.text import counted
from autograder.reports.feedback_exporter import renew_penalties, renew_stamps
from autograder.reports.publish import publish
from autograder.storage.attempts import ArrivalLog, AttemptLog, Spent, nameless, seconds_to_wait
from autograder.storage.exchange import CourseExchange
from autograder.storage.io_errors import ERRNOS, plain_io_errors
from autograder.storage.recorder import without_time
from autograder.submissions.submission import Submission, look_alike
from autograder.watch.inbox import Arrival, Inbox, UploadTracker, collect

GLANCE = 0.5  # seconds between two looks while something is being written or graded
RESCAN = 10.0  # seconds between two looks otherwise: a network share reports no changes
QUICK = 30.0  # seconds after which a submission is slow
SHARE = 300.0  # seconds of grading that each student has in an hour
PUBLISH = 60.0  # seconds between two reports while there is work
SAME_NOTE = 3600.0  # seconds after which the same note may be given again


@dataclass(frozen=True)
class Done:
    """One submission that was taken care of.

    `returned` says whether its feedback went back through the exchange, `problem` what went wrong with
    the feedback; the scores are recorded in any case. `recorded` is None if there was nothing new in it,
    or if it could not be read, which is tried again.
    """

    arrival: Arrival
    recorded: Recorded | None = None
    seconds: float = 0.0
    returned: bool = False
    problem: str = ""

    @property
    def attempt(self) -> Attempt | None:
        """The attempt that was made of it."""
        return self.recorded.attempt if self.recorded else None


@dataclass
class Turn:
    """A student's submission that is being graded; `future` is None while it waits for the slow lane.

    Once it is recorded, `attempt` is what came of it, and the lines to blame are being looked for.
    """

    arrival: Arrival
    loop: GradingLoop
    submission: Submission
    slow: bool
    future: "Future[Result] | None" = None
    attempt: Attempt | None = None
    begun: float = 0.0  # on the monotonic clock
    seconds: float = 0.0  # used before


class ArrivalGrader:
    """Grades submissions that arrived, in two pools, and gives their feedback back.

    Each student has one turn at a time. A submission that takes longer than the `quick` pool allows, or
    ends its worker there, is graded again in the `slow` one, so that it holds up nobody else.
    """

    def __init__(self, course: Course, exchange: CourseExchange, quick: Pool, slow: Pool) -> None:
        self.course, self.exchange, self.quick, self.slow = course, exchange, quick, slow
        self.log = ArrivalLog(course.reports)
        self.turns: dict[str, Turn] = {}  # by student
        self._published, self._is_published = time.monotonic(), True

    def begin(self, arrival: Arrival, *, slow: bool) -> Done | None:
        """Begin a student's turn, `slow` if earlier ones took long; do nothing if no worker is free.

        If there is nothing to grade, return at once what became of the submission. Raises AutograderErrors
        that would stop every submission alike.
        """
        pool = self.slow if slow else self.quick
        if not slow and self._at_work(pool) >= pool.workers:
            return None
        begun = time.monotonic()
        with plain_io_errors(self.course):
            loop = GradingLoop(self.course, arrival.lesson, sandboxed=self.quick.sandboxed)
            try:
                collect(self.course, arrival)
            except OSError as error:
                if error.errno in ERRNOS:  # the disk's fault, not the student's
                    raise
                return Done(arrival, problem=f"the folder cannot be read: {error.strerror}")
            submission = loop.submission(arrival.student)
            turn = Turn(arrival, loop, submission, slow, begun=begun)
            newest = AttemptLog(self.course.reports).last(arrival.student, arrival.lesson)
            if loop.is_settled(submission, newest):
                renew_stamps(self.course, arrival.lesson, [arrival.student])  # its time may have changed
                renew_penalties(self.course, arrival.lesson, arrival.student)
                return self._finish(turn, None)
        self.turns[arrival.student] = turn
        self._advance()
        return None

    def finished(self) -> Iterator[Done]:
        """Record what has been graded meanwhile, yield each when its feedback is back, and begin what waits.

        The reports are published when nothing else is to be done, and now and then. Raises
        AutograderErrors that would stop every submission alike.
        """
        for turn in [turn for turn in self.turns.values() if turn.future and turn.future.done()]:
            assert turn.future is not None
            died = isinstance(turn.future.exception(), DEATHS)
            if turn.attempt is not None:
                del self.turns[turn.arrival.student]
                if not died:
                    self._keep_lines(turn, turn.attempt, turn.future.result()[0])
            elif died and not turn.slow:
                turn.slow, turn.future = True, None
                turn.seconds += time.monotonic() - turn.begun
                self.quick.warm_up(self.course)  # the new worker: to import torch counts as nobody's time
            else:
                del self.turns[turn.arrival.student]
                result = self.slow.given_up(turn.submission) if died else turn.future.result()
                with plain_io_errors(self.course):
                    for recorded in turn.loop.record([result]):
                        yield self._finish(turn, recorded)
                        self._search(turn, recorded.attempt)
        self._advance()
        self._publish()

    def close(self) -> None:
        """End the workers, and write the reports, and the log of attempts as JSON lines."""
        self.quick.close()
        self.slow.close()
        self.turns.clear()
        self._publish()
        AttemptLog(self.course.reports).export()

    def _search(self, turn: Turn, attempt: Attempt) -> None:
        """Have the lines to blame looked for, in the slow lane, if there is anything to look for."""
        if turn.loop.wants_lines(attempt):
            turn.attempt, turn.slow, turn.future = attempt, True, None
            self.turns[turn.arrival.student] = turn

    def _keep_lines(self, turn: Turn, before: Attempt, found: Attempt) -> None:
        """Keep the lines that were found, and give the page with them back."""
        student, lesson = turn.arrival.student, turn.arrival.lesson
        with plain_io_errors(self.course):
            if not turn.loop.keep_lines(before, found):
                return
            failed = turn.loop.make_pages(turn.loop.stale([student]))
            self._is_published = False
        if turn.arrival.from_exchange and not failed:
            with suppress(CourseError):  # the page without the lines has been given back
                self.exchange.return_feedback(student, lesson)

    def _at_work(self, pool: Pool) -> int:
        slow = pool is self.slow
        return sum(turn.slow is slow and turn.future is not None for turn in self.turns.values())

    def _advance(self) -> None:
        """Begin the turns that wait for a worker, the longest-waiting first; searches come last."""
        for turn in sorted(self.turns.values(), key=lambda turn: turn.attempt is not None):
            pool = self.slow if turn.slow else self.quick
            busy = self._at_work(pool)
            if (
                turn.future is None
                and busy < pool.workers
                and not (busy and pool.is_outdated(turn.submission))
            ):
                turn.begun = time.monotonic()
                turn.future = pool.begin(replace(turn.submission, graded=turn.attempt))

    def _finish(self, turn: Turn, recorded: Recorded | None) -> Done:
        """Make the page unless it is there already, give it back, and note the submission."""
        arrival, loop = turn.arrival, turn.loop
        failed = loop.make_pages(loop.stale([arrival.student]))
        problem, returned = failed.get(arrival.student, ""), False
        if arrival.from_exchange and not problem:
            try:
                returned = self.exchange.return_feedback(arrival.student, arrival.lesson)
            except CourseError as error:
                problem = str(error)
        order = arrival.order if arrival.from_exchange else ""
        seconds = turn.seconds + time.monotonic() - turn.begun
        counted = recorded is not None
        self.log.add(arrival.key, arrival.student, arrival.lesson, order, counted=counted, seconds=seconds)
        self._is_published = False
        return Done(arrival, recorded, seconds, returned, problem)

    def _publish(self) -> None:
        """Write the reports of the class if they have changed, not too often while there is work."""
        if not self._is_published and (not self.turns or time.monotonic() - self._published >= PUBLISH):
            with plain_io_errors(self.course):
                publish(self.course, self.course.lessons())
            self._published, self._is_published = time.monotonic(), True


@dataclass
class Watch:
    """One watch over an inbox. `tell` gets what was graded, `note` a line about what was not.

    A student has `most` attempts an hour, and `SHARE` seconds of grading.
    """

    inbox: Inbox
    grader: ArrivalGrader
    tell: Callable[[Done], None]
    note: Callable[[str], None]
    most: int
    uploads: UploadTracker = field(default_factory=UploadTracker)
    _noted: dict[str, float] = field(default_factory=dict)
    _is_busy: bool = False  # whether something is being written or graded

    def run(self, stop: threading.Event, *, once: bool = False) -> None:
        """Grade what is there and what arrives, until `stop` is set; with `once`, only what is there.

        What the disk or the gradebook refuses is noted and tried again. At the end, what is being graded is
        finished, unless it takes long: then it is left to the next watch.
        """
        for _ in _looks(self.inbox, stop, lambda: self._is_busy):
            self._look(once=once)
            if once and not self._is_busy:
                return
        if running := [turn.future for turn in self.grader.turns.values() if turn.future]:
            self.note(f"stopping: waiting up to {QUICK:.0f} s for what is being graded")
            wait(running, timeout=QUICK)
        self._keep_finished(once=once)

    def _look(self, *, once: bool) -> None:
        """Look once: keep what is graded, grade what can be graded now, and remember whether to look soon."""
        self._keep_finished(once=once)
        new = self._new()
        for line in self.inbox.left_out:
            self._note_once(line)
        if new and (line := look_alike(self.grader.course, {arrival.student for arrival in new})):
            self._note_once(line)
        whole = [arrival for arrival in new if self.uploads.is_whole(arrival)]
        spent = self.grader.log.spent()
        for arrival in sorted(whole, key=lambda each: (len(spent.get(each.student, ())), each.order)):
            used = spent.get(arrival.student, [])
            if arrival.student not in self.grader.turns and self._is_allowed(arrival, used):
                self._begin(arrival, slow=sum(each.seconds for each in used) >= QUICK, once=once)
        self._is_busy = len(whole) < len(new) or bool(self.grader.turns)

    def _begin(self, arrival: Arrival, *, slow: bool, once: bool) -> None:
        with self._noting_problems(once=once):
            done = self.grader.begin(arrival, slow=slow)
            if done:
                self._tell(done)

    def _keep_finished(self, *, once: bool) -> None:
        with self._noting_problems(once=once):
            for done in self.grader.finished():
                self._tell(done)

    def _tell(self, done: Done) -> None:
        if done.attempt is None and done.problem:
            self._note_once(f"{done.arrival}: {done.problem}")
        else:
            self.uploads.forget(done.arrival)
            self.tell(done)
            with plain_io_errors(self.grader.course):
                for line in without_time(self.grader.course, done.arrival.lesson, [done.arrival.student]):
                    self._note_once(line)

    @contextmanager
    def _noting_problems(self, *, once: bool) -> Iterator[None]:
        """Note what would stop every submission: it is tried again, and holds up no other lesson."""
        try:
            yield
        except AutograderError as problem:
            if once:
                raise
            self._note_once(str(problem))

    def _new(self) -> list[Arrival]:
        """Return the submissions that nobody has taken care of."""
        keys, newest = self.grader.log.keys(), self.grader.log.newest()
        return [
            arrival
            for arrival in self.inbox.newest()
            if not {arrival.key, nameless(arrival.key)} & keys
            and not (arrival.from_exchange and arrival.order <= newest.get(arrival.place, ""))
        ]

    def _is_allowed(self, arrival: Arrival, spent: Sequence[Spent]) -> bool:
        """Return whether the student has an attempt and time left in this hour; if not, it waits."""
        seconds = seconds_to_wait(spent, self.most, SHARE)
        if seconds:
            at = time.strftime("%H:%M", time.localtime(time.time() + seconds))
            limits = f"{counted(self.most, 'attempt')} and {SHARE / 60:.0f} minutes of grading an hour"
            self._note_once(f"{arrival}: waits until {at} ({limits})")
        return not seconds

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
