"""Makes the pages that a new score outdates, in a thread of its own, so that nobody waits for them."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from threading import Event, Lock

from autograder.model.course import Course
from autograder.reports.feedback_exporter import generate, is_stale, outdate
from autograder.reports.publish import publish
from autograder.storage.io_errors import plain_io_errors

PAUSE = 1.0  # seconds in which the next page is shown before this work begins


class PageMaker:
    """Brings feedback pages, class report and CSV files up to date; use it in a `with`, which finishes them.

    A page that is waiting is marked as outdated on the disk, so that it is made by the next run of
    `autograder written` or `autograder grade` if this one is killed. `tell` gets a line about what failed.
    """

    def __init__(self, course: Course, tell: Callable[[str], None]) -> None:
        self._course, self._tell = course, tell
        self._waiting: set[tuple[str, str]] = set()
        self._lock, self._closing = Lock(), Event()
        self._thread = ThreadPoolExecutor(max_workers=1)

    def __enter__(self) -> "PageMaker":
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        self._thread.shutdown()

    def catch_up(self, works: Iterable[tuple[str, str]]) -> None:
        """Make the reports, and those of the pages, by lesson and student, that are outdated."""
        stale = {work for work in works if is_stale(self._course, work[1], work[0])}
        with self._lock:
            self._waiting |= stale
        self._thread.submit(self._make, always=True)

    def add(self, lesson: str, student: str) -> None:
        """Have a student's page and the reports made again, soon."""
        outdate(self._course, student, lesson)
        with self._lock:
            self._waiting.add((lesson, student))
        self._thread.submit(self._make)

    def _make(self, *, always: bool = False) -> None:
        """Make everything that is waiting, several scores in one go."""
        if not (self._waiting or always):
            return
        self._closing.wait(PAUSE)
        with self._lock:
            todo, self._waiting = self._waiting, set()
        try:
            with plain_io_errors(self._course):
                for lesson in {lesson for lesson, _ in todo}:
                    students = sorted(student for each, student in todo if each == lesson)
                    for student, problem in generate(self._course, lesson, students).items():
                        self._tell(f"{student}: no feedback page ({problem}); the points are saved")
                publish(self._course, self._course.lessons())
        except Exception as error:  # a page never stops the grading; the gradebook has the points
            self._tell(f"the pages are not up to date: {error}")
