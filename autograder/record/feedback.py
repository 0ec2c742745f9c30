"""Feedback pages, made by nbgrader's own GenerateFeedback."""

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from nbgrader.converters import GenerateFeedback
from nbgrader.converters.base import NbGraderException

from autograder.course import Course
from autograder.record.pool import end_with_parent
from autograder.record.stock import course_directory, quiet_logger, settings

ALONE = 16  # so many pages take less time than a second process needs to start


def page_path(course: Course, student: str, lesson: str) -> Path:
    """Return where a student's feedback page lies."""
    return course.feedback / student / lesson / f"{lesson}.html"


def marked_path(course: Course, student: str, lesson: str) -> Path:
    """Return where the marked notebook lies that a page is made from."""
    return course.autograded / student / lesson / f"{lesson}.ipynb"


def is_stale(course: Course, student: str, lesson: str) -> bool:
    """Whether a student's page is absent, was cut short, or is not that of the marked notebook.

    A page has the time of the notebook it was made from, set once it is whole.
    """
    page, marked = page_path(course, student, lesson), marked_path(course, student, lesson)
    return not page.is_file() or page.stat().st_mtime_ns != marked.stat().st_mtime_ns


def generate(
    course: Course, lesson: str, students: Sequence[str], *, workers: int = 1
) -> dict[str, str]:
    """Make the pages of these students; return what went wrong, by student.

    A page that fails costs no mark and stops no other page.
    """
    problems: dict[str, str] = {}
    if workers == 1 or len(students) <= ALONE:
        problems |= _pages(course, lesson, students)
    else:
        shares = [students[start::workers] for start in range(workers)]
        for failed in _side_by_side(course, lesson, shares):
            problems |= failed
    stale = [student for student in students if is_stale(course, student, lesson)]
    return {student: problems.get(student, "nbgrader made none") for student in stale}


def _side_by_side(
    course: Course, lesson: str, shares: Sequence[Sequence[str]]
) -> Iterator[dict[str, str]]:
    """Make each share's pages in a process of its own; one that dies leaves its pages unmade."""
    spawn = get_context("spawn")
    with ProcessPoolExecutor(len(shares), mp_context=spawn, initializer=end_with_parent) as pool:
        futures = [pool.submit(_pages, course, lesson, share) for share in shares]
        for future in futures:
            with suppress(BrokenProcessPool):
                yield future.result()


def _pages(course: Course, lesson: str, students: Sequence[str]) -> dict[str, str]:
    """Make pages one after the other; return what went wrong, by student."""
    config = settings(course)
    folder = course_directory(course, lesson, config)
    converter = _Pages(course, students, coursedir=folder, config=config, log=quiet_logger())
    converter.force = True
    with suppress(NbGraderException):  # it says at the end that something went wrong; we say what
        converter.start()
    return converter.problems


class _Pages(GenerateFeedback):  # type: ignore[misc] # nbgrader comes without types
    """GenerateFeedback for given students: nbgrader's own takes one, or a pattern of names."""

    def __init__(self, course: Course, students: Sequence[str], **kw: Any) -> None:
        super().__init__(**kw)
        self.course, self.students = course, students
        self.problems: dict[str, str] = {}

    def init_notebooks(self) -> None:
        """Choose the notebooks of the students' folders."""
        lesson = self.coursedir.assignment_id
        paths = [marked_path(self.course, student, lesson) for student in self.students]
        self.assignments = {str(path.parent): [str(path)] for path in paths}
        self.notebooks: list[str] = []

    def convert_single_notebook(self, notebook_filename: str) -> None:
        """Make one page, with the time of its notebook; note why, if it fails."""
        student = Path(notebook_filename).parent.parent.name
        before = Path(notebook_filename).stat()
        try:
            super().convert_single_notebook(notebook_filename)
            page = page_path(self.course, student, self.coursedir.assignment_id)
            os.utime(page, ns=(before.st_atime_ns, before.st_mtime_ns))
        except Exception as error:
            self.problems[student] = " ".join(f"{type(error).__name__}: {error}".split())
            raise
