"""Grades lessons of a class one after the other, and writes the reports."""

from collections.abc import Sequence

from rich.console import Console

from autograder.grading.class_run import grade_lesson, make_pool, nothing_submitted, say
from autograder.grading.cluster_access import Cluster
from autograder.model.course import Course
from autograder.reports.publish import Published, publish
from autograder.storage.io_errors import plain_io_errors
from autograder.submissions.submission import of_no_lesson


def submitted_lessons(course: Course) -> list[str]:
    """Return the lessons with at least one submission. Raises CourseError if there are none."""
    found = {folder.name for folder in course.submitted.glob("*/*") if folder.is_dir()}
    lessons = sorted(found & set(course.lessons()))
    if not lessons:
        raise nothing_submitted(course)
    return lessons


def grade_lessons(
    course: Course,
    lessons: Sequence[str],
    *,
    sandboxed: bool = True,
    workers: int | None = None,
    force: bool = False,
    console: Console | None = None,
    cluster: Cluster | None = None,
) -> Published:
    """Grade each lesson's submissions (see `grade_lesson`), and write the reports of all lessons.

    `workers` processes, by default one per core, or a `cluster` grade them all.
    """
    console = console or Console(stderr=True)
    if names := of_no_lesson(course):
        say(console, f"left out because no lesson has that name: {names}")
    with make_pool(workers, cluster, sandboxed=sandboxed).kept() as pool:
        for lesson in lessons:
            grade_lesson(course, lesson, sandboxed=sandboxed, force=force, console=console, pool=pool)
    with plain_io_errors(course):
        return publish(course, course.lessons())
