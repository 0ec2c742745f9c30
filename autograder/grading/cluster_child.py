"""Grades submissions for a dask worker, in a process of its own: `python -m` this module, FD, FOLDER.

The worker sends a task over a socket and waits for the answer, so a death here costs neither the worker
nor its connection to the scheduler. The process ends when the worker closes the socket.
"""

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING

from autograder.grading.cluster_task import Head, make_answer, make_refusal, received
from autograder.grading.grade_submission import grade_submission
from autograder.grading.pool import MakeGrader, make_grader
from autograder.grading.version import lesson_version
from autograder.model.course import Course
from autograder.model.errors import AutograderError, CourseError

if TYPE_CHECKING:
    from autograder.grading.grader import Grader

OWN = 0o700  # the lesson's key lies in the folder: nobody else may look


class Desk:
    """Grades one task after the other, and keeps the grader of the last lesson."""

    def __init__(self, folder: Path, make: MakeGrader) -> None:
        """Keep lessons in `folder`, which other processes of the same worker use too."""
        self._folder, self._make = folder, make
        self._graders = ExitStack()
        self._ready: tuple[str, bool] = "", False
        self._grader: Grader | None = None

    def answer(self, task: bytes, data: bytes) -> bytes:
        """Return the answer to a task: the graded submission, or why this worker grades none."""
        try:
            head = Head.read(task)
            course = self._course(head)
            grader = self._grader_for(head, course)
            with _laid_out(course, head, data) as student:
                submission = received(head, course, student)
                return make_answer(grade_submission(grader, submission, sandboxed=head.sandboxed))
        except AutograderError as error:
            return make_refusal(error)
        except Exception as error:  # the worker stays, and the instructor reads why
            return make_refusal(CourseError(f"{type(error).__name__}: {error}"))

    def close(self) -> None:
        """End the grader."""
        self._graders.close()

    def _course(self, head: Head) -> Course:
        """Return a course with the lesson that was sent; written once for each version of it."""
        course = Course(self._folder / head.version)
        course.root.mkdir(mode=OWN, parents=True, exist_ok=True)
        release = course.release / head.lesson / f"{head.lesson}.ipynb"
        files = {
            course.text(head.lesson): head.text,
            release: head.release,
            course.lesson_key(head.lesson): head.key,
        }
        for path, text in files.items():
            if not path.exists():
                path.parent.mkdir(mode=OWN, parents=True, exist_ok=True)
                draft = path.with_name(f".{path.name}.{os.getpid()}")
                draft.write_text(text, encoding="utf-8", newline="")
                draft.replace(path)
        return course

    def _grader_for(self, head: Head, course: Course) -> "Grader":
        """Return the grader for a lesson. Raises CourseError if this machine has another version."""
        wanted = head.version, head.sandboxed
        if self._grader is None or self._ready != wanted:
            self._graders.close()
            if lesson_version(course, head.lesson) != head.version:
                raise CourseError(
                    "it has another version of the autograder or the coursework; install the same one "
                    "on every machine"
                )
            self._grader = self._graders.enter_context(self._make(course, head.sandboxed))
            self._ready = wanted
        return self._grader


@contextmanager
def _laid_out(course: Course, head: Head, data: bytes) -> Iterator[str]:
    """Put the submitted file where a student's is, and give the name of that student."""
    student = f"process-{os.getpid()}"
    path = course.submission(student, head.lesson)
    path.parent.mkdir(mode=OWN, parents=True, exist_ok=True)
    try:
        if head.name:
            if Path(head.name).name != head.name:
                raise CourseError("it was sent a file with a path for a name")
            path.with_name(head.name).write_bytes(data)
        yield student
    finally:
        shutil.rmtree(course.submitted / student)


def main(make: MakeGrader = make_grader) -> None:
    """Answer tasks until the worker closes the socket."""
    worker, desk = Connection(int(sys.argv[1])), Desk(Path(sys.argv[2]), make)
    try:
        with suppress(EOFError, ConnectionError):
            while True:
                worker.send_bytes(desk.answer(worker.recv_bytes(), worker.recv_bytes()))
    finally:
        desk.close()


if __name__ == "__main__":
    main()
