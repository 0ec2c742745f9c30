"""Workers stay ready between submissions, follow a change of the checks, and may die."""

from collections.abc import Iterator

import pytest
from tiny_course import LESSON, RIGHT, hand_in

from autograder.model.course import Course
from autograder.model.report import Outcome
from autograder.submissions.submission import Submission
from autograder.watch.warm_pool import WarmPool

from .counting import make_counting


@pytest.fixture
def pool(course: Course) -> Iterator[WarmPool]:
    """A pool of one worker."""
    made = WarmPool(course, 1, sandboxed=True, make=make_counting)
    yield made
    made.close()


def _score(pool: WarmPool, student: str, version: str = "v1") -> float:
    ((attempt, _),) = pool.grade_all([Submission(pool.course, student, LESSON, version)])
    return attempt.report.score


def _graders(course: Course) -> int:
    return len((course.root / "graders").read_text().split())


def test_one_worker_grades_what_comes_one_after_the_other(course: Course, pool: WarmPool) -> None:
    """It was made ready before the first submission came, and is kept after it."""
    hand_in(course, "ada", **RIGHT)
    hand_in(course, "bo", double="# half")
    pool.warm_up()
    assert (_score(pool, "ada"), _score(pool, "bo")) == (18, 4)
    assert _graders(course) == 1


def test_a_new_version_of_a_lesson_gets_a_new_worker(course: Course, pool: WarmPool) -> None:
    """A worker has imported the checks of an earlier day."""
    hand_in(course, "ada", **RIGHT)
    _score(pool, "ada")
    _score(pool, "ada", "v2")
    assert _graders(course) == 2


def test_a_submission_that_ends_its_worker_is_left_to_a_person(course: Course, pool: WarmPool) -> None:
    """Those beside it and after it are graded as if nothing had happened."""
    hand_in(course, "ada", **RIGHT)
    hand_in(course, "cyd", double="# die")
    submissions = [Submission(course, name, LESSON, "v1") for name in ("cyd", "ada")]
    found = {attempt.student: attempt.report for attempt, _ in pool.grade_all(submissions)}
    assert found["ada"].score == 18
    assert {each.outcome for each in found["cyd"].exercises} == {Outcome.GRADER_FAULT}
    assert _score(pool, "ada") == 18
