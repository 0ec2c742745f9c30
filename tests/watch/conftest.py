"""The tiny course with a watch over an inbox, and students who hand in as nbgrader does."""

import shutil
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tiny_course import LESSON, FakeGraded, FakeGrader, hand_in, make_fake
from tiny_fixtures import book, built, course, grades, same_grader

from autograder.grading.pool import MakeGrader, Pool
from autograder.model.course import CONFIG, Course
from autograder.model.report import Report, WrongLines
from autograder.storage.exchange import CourseExchange
from autograder.watch.inbox import Inbox, UploadTracker
from autograder.watch.watch import ArrivalGrader, Done, Watch

__all__ = ["book", "built", "course", "grades", "same_grader"]


class SleepyGrader(FakeGrader):
    """A fake grader that has an answer with the word `sleep` wait until all other submissions are graded."""

    def grade(self, lesson: str, path: Path, settled: Report | None = None) -> FakeGraded:
        """Wait, and grade by words."""
        text = path.read_text(encoding="utf-8")
        end = time.monotonic() + 60
        while "sleep" in text and len([*self.course.autograded.glob("*/*/*.ipynb")]) < 2 and time.monotonic() < end:
            time.sleep(0.1)
        return super().grade(lesson, path, settled)


def make_sleepy(course: Course, _: bool) -> Any:
    """Make the sleepy grader; workers import this by name."""
    return SleepyGrader(course)


class FindingGrader(FakeGrader):
    """A fake grader that finds the first line to blame in every wrong answer, in half a second."""

    def find_lines(self, _lesson: str, _path: Path, report: Report) -> tuple[Report, dict[str, str]]:
        """Return the report with a line in each exercise that failed."""
        time.sleep(0.5)
        line = [WrongLines(first=1, last=1, text="# half", what="another number")]
        found = [
            each.model_copy(update={"lines": line}) if each.failures else each for each in report.exercises
        ]
        return report.with_exercises(found), {}


def make_finding(course: Course, _: bool) -> Any:
    """Make the finding grader; workers import this by name."""
    return FindingGrader(course)


@dataclass
class Told:
    """What a watch told: submissions that were graded, and notes."""

    done: list[Done] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def graded(self) -> list[tuple[str, float]]:
        """The students whose submissions were graded, and their scores."""
        return [(d.arrival.student, d.attempt.report.score) for d in self.done if d.attempt]


Look = Callable[..., Told]


@pytest.fixture
def exchange(course: Course, tmp_path: Path) -> Path:
    """The exchange of nbgrader for the course; returns its inbound folder."""
    root = tmp_path / "exchange"
    inbound = root / "transformer" / "inbound"
    inbound.mkdir(parents=True)
    root.chmod(0o777)
    with (course.root / CONFIG).open("a") as config:
        config.write(f"\nc.Exchange.root = '{root}'\nc.CourseDirectory.course_id = 'transformer'\n")
    return inbound


@pytest.fixture
def submit(course: Course, exchange: Path, tmp_path: Path) -> Callable[..., Path]:
    """Give a function that submits as `nbgrader submit` does: the notebook, the time, the secret."""

    def submit_it(student: str, stamp: str, **answers: str) -> Path:
        elsewhere = Course(tmp_path / "homes" / student)
        elsewhere.root.mkdir(parents=True, exist_ok=True)
        if not elsewhere.release.exists():
            elsewhere.release.symlink_to(course.release)
        notebook = hand_in(elsewhere, student, **answers)
        folder = exchange / f"{student}+{LESSON}+{stamp}+abc"
        folder.mkdir()
        shutil.copy(notebook, folder)
        (folder / "timestamp.txt").write_text(stamp)
        (folder / "submission_secret.txt").write_text(f"secret{student}{stamp[:10]}")
        return folder

    return submit_it


@pytest.fixture
def look(course: Course, same_grader: None) -> Look:
    """Give a function that watches a folder once, or until `stop` is set; no file makes it wait long."""

    def look_once(
        folder: Path,
        *,
        most: int = 10,
        checks_owner: bool = False,
        stop: threading.Event | None = None,
        workers: int = 1,
        quick: float = 30.0,
        make: MakeGrader = make_fake,
    ) -> Told:
        ticks: Iterator[float] = iter(float(30 * n) for n in range(10_000))
        told = Told()
        first = Pool(workers, sandboxed=True, make=make, seconds=quick)
        slow = Pool(1, sandboxed=True, make=make)
        exchange = CourseExchange(course, folder)
        grader = ArrivalGrader(course, exchange, first, slow)
        is_exchange = folder == exchange.inbound
        inbox = Inbox(folder, course.lessons(), is_exchange=is_exchange, checks_owner=checks_owner)
        uploads = UploadTracker(lambda: next(ticks))
        watch = Watch(inbox, grader, told.done.append, told.notes.append, most, uploads)
        try:
            watch.run(stop or threading.Event(), once=stop is None)
        finally:
            grader.close()
        return told

    return look_once
