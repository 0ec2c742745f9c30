"""Submissions are graded in processes. One that dies costs no other submission its score."""

import os
import time
from pathlib import Path
from typing import Any

import pytest
from tiny_course import LESSON, RIGHT, FakeGraded, FakeGrader, hand_in, make_fake

from autograder.grading.grade_submission import Result
from autograder.grading.pool import Pool
from autograder.model.course import Course
from autograder.model.errors import SandboxMissingError
from autograder.model.report import Report
from autograder.submissions.submission import Submission


class Careful(FakeGrader):
    """Ends its process at `once` the first time only, and takes for ever at `slow`."""

    def __init__(self, course: Course) -> None:
        """Leave a file that says in which process it was made."""
        super().__init__(course)
        (course.root / f"made-{os.getpid()}").touch()

    def grade(self, lesson: str, path: Path, settled: Report | None = None) -> FakeGraded:
        """Die, wait, or grade."""
        text, seen = path.read_text(), path.with_name("seen")
        if "once" in text and not seen.exists():
            seen.touch()
            os._exit(1)
        if "slow" in text:
            time.sleep(10_000)
        (self.course.root / f"graded-{os.getpid()}").touch()
        return super().grade(lesson, path, settled)

    def close(self) -> None:
        """Take as long as a real one, and leave a file that says it was closed."""
        time.sleep(0.3)
        (self.course.root / f"closed-{os.getpid()}").touch()


def make_careful(course: Course, _: bool) -> Any:
    """Make a Careful grader. Workers import this by name."""
    return Careful(course)


class Searching(FakeGrader):
    """Finds no line, and ends its process at `once`."""

    def find_lines(self, lesson: str, path: Path, report: Report) -> tuple[Report, dict[str, str]]:
        """Say that each wrong answer was searched."""
        assert lesson == report.lesson
        if "once" in path.read_text():
            os._exit(1)
        searched = [each.model_copy(update={"lines": []}) for each in report.exercises]
        return report.with_exercises(searched), {"double": "- a change"}


def make_searching(course: Course, _: bool) -> Any:
    """Make a Searching grader. Workers import this by name."""
    return Searching(course)


def refuse(*_: object) -> Any:
    """Stand in for a grader that finds no sandbox."""
    raise SandboxMissingError("no bubblewrap here")


def grade_all(pool: Pool, course: Course, *students: str) -> dict[str, Result]:
    """Grade these students' submissions; return the results by student."""
    handed = [Submission(course, student, LESSON, "v") for student in students]
    results = list(pool.grade_all(handed))
    assert len(results) == len(students)
    return {result[0].student: result for result in results}


def test_a_death_costs_only_the_one_that_causes_it(course: Course) -> None:
    """One kills its worker each time, one only once. All others get their scores."""
    for student in ("a", "b", "c", "d", "e"):
        hand_in(course, student, **RIGHT)
    hand_in(course, "killer", double="# right but die")
    hand_in(course, "unlucky", double="# right once")
    with Pool(2, sandboxed=True, make=make_careful) as pool:
        done = grade_all(pool, course, "a", "killer", "b", "unlucky", "c", "d", "e")
    assert {student: result[0].report.score for student, result in done.items()} == {
        "a": 18.0,
        "b": 18.0,
        "c": 18.0,
        "d": 18.0,
        "e": 18.0,
        "killer": 0.0,
        "unlucky": 8.0,
    }
    assert [student for student, result in done.items() if result[0].faulty] == ["killer"]
    assert "died twice" in done["killer"][0].detail


def test_a_submission_that_never_ends_is_left_to_a_person(course: Course) -> None:
    """Past the limit its worker is ended, whatever the grader is waiting for."""
    hand_in(course, "slow", double="# slow")
    with Pool(1, sandboxed=True, make=make_careful, seconds=1) as pool:
        done = grade_all(pool, course, "slow")
    assert done["slow"][0].faulty


def test_no_sandbox_stops_the_run(course: Course) -> None:
    """The error reaches the caller as it is, and no submission is marked."""
    hand_in(course, "alice", **RIGHT)
    with (
        Pool(1, sandboxed=True, make=refuse) as pool,
        pytest.raises(SandboxMissingError, match="no bubblewrap here"),
    ):
        grade_all(pool, course, "alice")


def test_nothing_to_grade_starts_nothing() -> None:
    """An empty run yields nothing."""
    with Pool(2, sandboxed=True, make=make_fake) as pool:
        assert list(pool.grade_all([])) == []


def test_workers_grade_one_lesson_after_the_other(course: Course) -> None:
    """They are the same processes until the block ends; also where one of them died in between."""
    hand_in(course, "a", **RIGHT)
    hand_in(course, "killer", double="# right but die")
    with Pool(1, sandboxed=True, make=make_careful) as pool:
        for students in (("a",), ("killer", "a")):
            assert grade_all(pool, course, *students)["a"][0].report.score == 18.0
            grade_all(pool, course, "a")
            workers = {*course.root.glob("graded-*")}
            grade_all(pool, course, "a")
            assert {*course.root.glob("graded-*")} == workers


def test_workers_are_made_ready_and_follow_a_change_of_the_checks(course: Course) -> None:
    """They have imported the checks of an earlier day; the first submission need not wait for them."""
    hand_in(course, "a", **RIGHT)
    with Pool(1, sandboxed=True, make=make_careful) as pool:
        pool.warm_up(course)
        for version in ("v1", "v1", "v2"):
            ((attempt, _),) = pool.grade_all([Submission(course, "a", LESSON, version)])
            assert attempt.report.score == 18
    assert len([*course.root.glob("made-*")]) == 2
    assert len([*course.root.glob("closed-*")]) == 2


def test_workers_are_replaced_after_a_run_that_was_stopped(course: Course) -> None:
    """Nothing of the run before comes in between; every worker that ends closes its grader."""
    for student in ("a", "b", "c"):
        hand_in(course, student, **RIGHT)
    with Pool(1, sandboxed=True, make=make_careful) as pool:
        results = pool.grade_all([Submission(course, student, LESSON, "v") for student in ("a", "b", "c")])
        next(results)
        results.close()
        assert set(grade_all(pool, course, "b", "c")) == {"b", "c"}
    made = {path.name.partition("-")[2] for path in course.root.glob("made-*")}
    assert len(made) == 2
    assert made == {path.name.partition("-")[2] for path in course.root.glob("closed-*")}


def test_a_search_that_ends_its_worker_costs_no_other_submission_its_lines(course: Course) -> None:
    """What was graded stays as it was, and the others are searched."""
    for student, answer in (("ada", "half"), ("ben", "once"), ("eve", "half")):
        hand_in(course, student, double=answer)
    with Pool(2, sandboxed=True, make=make_searching) as pool:
        graded = grade_all(pool, course, "ada", "ben", "eve")
        todo = [Submission(course, name, LESSON, "v", graded=attempt) for name, (attempt, _) in graded.items()]
        found = {attempt.student: attempt for attempt in pool.find_lines(todo)}
    assert found.keys() == {"ada", "eve"}
    assert found["ada"].changes == {"double": "- a change"}
    assert found["ada"].report.exercise("double").lines == []
    assert graded["ada"][0].report.exercise("double").lines is None
