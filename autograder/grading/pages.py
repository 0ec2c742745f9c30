"""Makes the feedback pages of a class, in the workers that graded it where that pays."""

from collections.abc import Sequence

from autograder.grading.pool import Pool
from autograder.model.course import Course
from autograder.reports import feedback_exporter

ALONE = 16  # this many pages take less time than a second process needs to start


def stale_pages(course: Course, lesson: str, students: Sequence[str]) -> list[str]:
    """Return the students whose pages are absent or older than the scores."""
    return [each for each in students if feedback_exporter.is_stale(course, each, lesson)]


def make_pages(course: Course, lesson: str, students: Sequence[str], pool: Pool) -> dict[str, str]:
    """Make these students' pages; return what went wrong, by student."""
    spread = pool.spread if pool.is_running or len(students) > ALONE else None
    return feedback_exporter.generate(course, lesson, students, workers=pool.workers, spread=spread)
