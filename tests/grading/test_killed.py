"""A class run that is killed at any instant continues where it stopped, with the same results."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from nbgrader.api import Gradebook
from tiny_course import LESSON, RIGHT, FakeGraded, FakeGrader, hand_in

from autograder.grading.pool import Pool
from autograder.model.course import Course
from autograder.model.report import Report
from autograder.reports import feedback_exporter
from autograder.storage import recorder
from autograder.storage.attempts import AttemptLog
from autograder.submissions.submission import Submission

pytestmark = pytest.mark.timeout(600)
KILLS = [5, pytest.param(50, marks=pytest.mark.full("fifty kills", seconds=180))]
# what each student hands in, round after round; None is a file that is not a notebook
ROUNDS: list[dict[str, dict[str, str] | None]] = [
    {"alice": RIGHT, "bob": {"double": "# half"}, "carl": None, "dora": {"why": "First."}},
    {"alice": {"double": "# half"}, "bob": None, "carl": RIGHT, "dora": {"why": "Second."}},
    {"alice": None, "bob": {"halve": "# wrong"}, "carl": {"halve": "# fault"}, "emil": RIGHT},
]


class Nursery:
    """A process that starts runs of tiny courses and can kill them."""

    def __init__(self) -> None:
        """Start it, and wait until it has imported everything."""
        tests = Path(__file__).parents[1]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "grading.nursery"],
            cwd=tests,
            env=os.environ | {"PYTHONPATH": os.pathsep.join([str(tests), str(tests.parent)])},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._answer()

    def run(self, course: Course, seconds: float = 300.0) -> float | None:
        """Run for at most this long; return how long it took, or None if it was killed."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{seconds} {course.root}\n")
        self._process.stdin.flush()
        how, took = self._answer().split()
        assert how in ("0", "killed"), "the run ended with an error of its own"
        return float(took) if how == "0" else None

    def _answer(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()

    def close(self) -> None:
        """End it."""
        self._process.communicate()


@pytest.fixture
def nursery() -> Iterator[Nursery]:
    """Give a nursery."""
    started = Nursery()
    yield started
    started.close()


def hand_in_round(course: Course, number: int) -> None:
    """Hand in the submissions of one round."""
    for student, answers in ROUNDS[number].items():
        path = hand_in(course, student, **(answers or {}))
        if answers is None:
            path.write_text(f"not a notebook {number}")


def grade_by_hand(course: Course) -> None:
    """Give scores to written answers, as the formgrader does."""
    with Gradebook(f"sqlite:///{course.gradebook}", "transformer") as book:
        for student in ("alice", "dora"):
            grade = book.find_grade("why", LESSON, LESSON, student)
            grade.manual_score, grade.needs_manual_grade = 1.5, False
        book.db.commit()


def everything(course: Course) -> dict[str, Any]:
    """Return everything that a run leaves, apart from times."""
    students = sorted(folder.name for folder in course.submitted.iterdir())
    latest = AttemptLog(course.reports).latest(LESSON)
    kept = {student: recorder.stored_attempt(course, student, LESSON) for student in students}
    assert kept == {student: latest[student] for student in students}
    return {
        "grades": grades(course),
        "attempts": {s: (a.sha256, a.report, a.answers) for s, a in latest.items()},
        "files": sorted(str(p.relative_to(course.root)) for p in _kept_files(course)),
        "pages": {student: page(course, student) for student in students},
        "csv": (course.reports / f"{LESSON}.csv").read_text(encoding="utf-8"),
    }


def _kept_files(course: Course) -> Iterator[Path]:
    for folder in (course.autograded, course.feedback):
        yield from folder.rglob("*")


def grades(course: Course) -> dict[str, dict[str, tuple[Any, ...]]]:
    """Return every score and comment in the gradebook."""
    with Gradebook(f"sqlite:///{course.gradebook}", "transformer") as book:
        return {
            row.student.id: {
                **{
                    g.name: (g.auto_score, g.manual_score, g.needs_manual_grade)
                    for g in row.grades
                },
                **{f"comment {c.name}": (c.auto_comment, c.manual_comment) for c in row.comments},
            }
            for row in book.notebook_submissions(LESSON, LESSON)
        }


def page(course: Course, student: str) -> str:
    """Return a student's feedback page, which has to be complete and up to date."""
    assert not feedback_exporter.is_stale(course, student, LESSON)
    text = course.feedback_page(student, LESSON).read_text(encoding="utf-8")
    assert text.rstrip().endswith("</html>")
    return text


@pytest.mark.parametrize("times", KILLS)
def test_kills_leave_what_an_undisturbed_run_leaves(
    built: Path, tmp_path: Path, nursery: Nursery, times: int
) -> None:
    """Three rounds of submissions, each killed many times, end in exactly the same results."""
    calm, wild = (Course(shutil.copytree(built, tmp_path / name)) for name in ("calm", "wild"))
    wild.gradebook.unlink()  # so some kills hit the run while it makes the gradebook
    dice, kills = random.Random(6), 0
    for number in range(len(ROUNDS)):
        for course in (calm, wild):
            hand_in_round(course, number)
        took = nursery.run(calm)
        assert took is not None
        while kills < times * (number + 1) // len(ROUNDS):
            if nursery.run(wild, dice.uniform(0, took)) is None:
                kills += 1
            else:  # it completed: give the next run something to do
                shutil.rmtree(wild.autograded / dice.choice(["alice", "bob"]))
        assert nursery.run(wild) is not None
        assert everything(wild) == everything(calm)
        for course in (calm, wild):
            grade_by_hand(course)
    assert kills == times


class Slow(FakeGrader):
    """Takes its time, so that it can be killed while grading."""

    def grade(self, lesson: str, path: Path, settled: Report | None = None) -> FakeGraded:
        """Note which process is at work, and grade after a while."""
        (self.course.root / f"at-work-{os.getpid()}").touch()
        time.sleep(0.3)
        return super().grade(lesson, path, settled)


def make_slow(course: Course, _: bool) -> Any:
    """Make a slow grader; workers import this by name."""
    return Slow(course)


def test_a_worker_that_is_killed_loses_no_score(course: Course) -> None:
    """Its submission is graded again, and no other twice."""
    students = [f"s{number}" for number in range(4)]
    for student in students:
        hand_in(course, student, **RIGHT)
    submissions = [Submission(course, student, LESSON, "v") for student in students]
    graded = []
    with Pool(2, sandboxed=True, make=make_slow) as pool:
        for attempt, _ in pool.grade_all(submissions):
            graded.append((attempt.student, attempt.report.score))
            if len(graded) == 1:
                os.kill(_at_work(course), signal.SIGKILL)
    assert sorted(graded) == [(student, 18.0) for student in students]


def _at_work(course: Course) -> int:
    return int(next(course.root.glob("at-work-*")).name.rpartition("-")[2])


ORPHANS = """
import sys
from pathlib import Path
from autograder.model.course import Course
from autograder.submissions.submission import Submission
from autograder.grading.pool import Pool
from grading.test_killed import LESSON, make_slow

course = Course(Path(sys.argv[1]))
submissions = [Submission(course, "alice", LESSON, "v")] * 400
with Pool(2, sandboxed=True, make=make_slow) as pool:
    for _ in pool.grade_all(submissions):
        print("one", flush=True)
"""


def test_workers_end_with_a_run_that_is_killed(course: Course) -> None:
    """A run that is killed without its workers leaves none of them behind."""
    hand_in(course, "alice", **RIGHT)
    tests = Path(__file__).parents[1]
    run = subprocess.Popen(
        [sys.executable, "-c", ORPHANS, str(course.root)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(tests), str(tests.parent)])},
        stdout=subprocess.PIPE,
    )
    with run:
        assert run.stdout is not None
        run.stdout.readline()
        run.kill()
    workers = [int(path.name.rpartition("-")[2]) for path in course.root.glob("at-work-*")]
    assert workers
    deadline = time.monotonic() + 20
    while any(map(_lives, workers)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(_lives, workers))


def _lives(process: int) -> bool:
    """Whether a process still runs: one that waits to be reaped does not."""
    try:
        return "State:\tZ" not in Path(f"/proc/{process}/status").read_text()
    except FileNotFoundError:
        return False
