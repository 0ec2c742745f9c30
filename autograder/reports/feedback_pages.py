"""Feedback pages of many students, written by nbgrader's own GenerateFeedback."""

import os
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from nbgrader.converters import GenerateFeedback
from nbgrader.converters.base import NbGraderException

from autograder.model.course import Course
from autograder.model.nbgrader_config import settings
from autograder.storage.nbgrader_api import course_directory, quiet_logger

ALONE = 16  # this many pages take less time than a second process needs to start


def is_stale(course: Course, student: str, lesson: str) -> bool:
    """Return whether a student's page is absent, torn, or older than the autograded notebook.

    A page gets the time of the notebook that it was made from once it is complete.
    """
    page = course.feedback_page(student, lesson)
    notebook = course.autograded_notebook(student, lesson)
    return not page.is_file() or page.stat().st_mtime_ns != notebook.stat().st_mtime_ns


def generate(
    course: Course, lesson: str, students: Sequence[str], *, workers: int = 1
) -> dict[str, str]:
    """Make the pages of these students; return what went wrong, by student.

    A page that fails costs no points and stops no other page.
    """
    if workers == 1 or len(students) <= ALONE:
        problems = _make_pages(course, lesson, students)
    else:
        problems = _make_pages_in_parallel(
            course, lesson, [students[start::workers] for start in range(workers)]
        )
    stale = [student for student in students if is_stale(course, student, lesson)]
    return {student: problems.get(student, "nbgrader made none") for student in stale}


def _make_pages_in_parallel(
    course: Course, lesson: str, shares: Sequence[Sequence[str]]
) -> dict[str, str]:
    """Make each share's pages in its own process; one that dies leaves its pages unmade."""
    context, receivers = get_context("spawn"), []
    for share in shares:
        receiver, sender = context.Pipe(duplex=False)
        arguments = (sender, course, lesson, share)
        context.Process(target=_send_problems, args=arguments, daemon=True).start()
        sender.close()  # only the process holds it now, so its death ends the wait below
        receivers.append(receiver)
    problems: dict[str, str] = {}
    for receiver in receivers:
        with receiver, suppress(EOFError):
            problems |= receiver.recv()
    return problems


def _send_problems(
    sender: Connection, course: Course, lesson: str, students: Sequence[str]
) -> None:
    try:
        problems = _make_pages(course, lesson, students)
    except Exception as error:  # reported for each page that is missing now
        problems = dict.fromkeys(students, _one_line(error))
    sender.send(problems)


def _make_pages(course: Course, lesson: str, students: Sequence[str]) -> dict[str, str]:
    """Make pages one after the other; return what went wrong, by student."""
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
