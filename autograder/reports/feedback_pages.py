"""Feedback pages of many students, written by nbgrader's own GenerateFeedback."""

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from nbgrader.converters import GenerateFeedback
from nbgrader.converters.base import NbGraderException

from autograder.model.course import Course
from autograder.model.nbgrader_config import settings
from autograder.storage.gradebook import course_directory, quiet_logger

Spread = Callable[
    [Callable[..., dict[str, str]], Sequence[tuple[object, ...]]], Iterable[dict[str, str] | None]
]


def is_stale(course: Course, student: str, lesson: str) -> bool:
    """Return whether a student's page is absent, torn, or older than the autograded notebook.

    A page gets the time of the notebook that it was made from once it is complete.
    """
    page = course.feedback_page(student, lesson)
    notebook = course.autograded_notebook(student, lesson)
    return not page.is_file() or page.stat().st_mtime_ns != notebook.stat().st_mtime_ns


def generate(
    course: Course, lesson: str, students: Sequence[str], *, workers: int = 1, spread: Spread | None = None
) -> dict[str, str]:
    """Make the pages of these students; return what went wrong, by student.

    `spread` calls a function on several tuples of arguments, in as many processes as there are
    `workers`; None is the result of one that died. A page that fails costs no points and stops no other page.
    """
    if spread is None:
        made: Iterable[dict[str, str] | None] = [make_pages(course, lesson, students)]
    else:
        shares = [students[start::workers] for start in range(min(workers, len(students)))]
        made = spread(make_pages, [(course, lesson, share) for share in shares])
    problems = {student: problem for each in made for student, problem in (each or {}).items()}
    stale = [student for student in students if is_stale(course, student, lesson)]
    return {student: problems.get(student, "nbgrader made none") for student in stale}


def make_pages(course: Course, lesson: str, students: Sequence[str]) -> dict[str, str]:
    """Make pages one after the other; return what went wrong, by student."""
    try:
        return _make_pages(course, lesson, students)
    except Exception as error:  # reported for each page that is missing now
        return dict.fromkeys(students, _one_line(error))


def _make_pages(course: Course, lesson: str, students: Sequence[str]) -> dict[str, str]:
    config = settings(course)
    folder = course_directory(course, lesson, config)
    converter = _Pages(course, students, coursedir=folder, config=config, log=quiet_logger())
    converter.force = True
    with suppress(NbGraderException):  # says only that a page failed; `problems` says which and why
        converter.start()
    return converter.problems


class _Pages(GenerateFeedback):  # type: ignore[misc] # nbgrader has no type annotations
    """GenerateFeedback for a list of students: nbgrader's own takes one name or a pattern."""

    def __init__(self, course: Course, students: Sequence[str], **kw: Any) -> None:
        super().__init__(**kw)
        self.course, self.students = course, students
        self.problems: dict[str, str] = {}

    def init_notebooks(self) -> None:
        """Choose the notebooks of the students' folders."""
        lesson = self.coursedir.assignment_id
        paths = [self.course.autograded_notebook(student, lesson) for student in self.students]
        self.assignments = {str(path.parent): [str(path)] for path in paths}
        self.notebooks: list[str] = []

    def convert_single_notebook(self, notebook_filename: str) -> None:
        """Make one page and give it the time of its notebook; note the reason if it fails."""
        student = Path(notebook_filename).parent.parent.name
        before = Path(notebook_filename).stat()
        try:
            super().convert_single_notebook(notebook_filename)
            page = self.course.feedback_page(student, self.coursedir.assignment_id)
            os.utime(page, ns=(before.st_atime_ns, before.st_mtime_ns))
        except Exception as error:
            self.problems[student] = _one_line(error)
            raise


def _one_line(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())
