"""What a dask worker runs for each task: a function that takes bytes and returns bytes.

A task is a line of JSON followed by the submitted file; an answer is JSON. Nothing that a submission made is
pickled. Each thread of the worker has a grading process of its own, kept from one task to the next, so a
submission that ends its process, or takes too long, costs neither the worker nor its connection to the
scheduler. This module is that process as well: `python -m` it, with a socket, a folder and the address of
the worker. It ends when the worker closes the socket.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autograder.grading.grade_submission import grade_submission
from autograder.grading.pool import MakeGrader, make_grader
from autograder.grading.version import lesson_version
from autograder.model import errors
from autograder.model.course import Course
from autograder.model.errors import AutograderError, CourseError
from autograder.model.report import Report
from autograder.submissions.submission import Submission

if TYPE_CHECKING:
    from autograder.grading.grader import Grader

FOLDER = "autograder"  # below the worker's own directory, which dask removes
OWN = 0o700  # the lesson's key lies in the folder: nobody else may look
PROGRAM = "autograder.grading.cluster_worker"
DIED = b"{}"  # the answer if the grading process ended or took too long
END_SECONDS = 3.0

_thread = threading.local()


class Task(bytes):
    """A task, which dask's logs do not show: its representation says nothing."""

    def __repr__(self) -> str:
        return "Task()"


def answer(task: bytes, seconds: float, program: str = PROGRAM) -> bytes:
    """Grade the submission in a task within `seconds`, on a thread of a dask worker."""
    from distributed import get_worker

    process: GradingProcess | None = getattr(_thread, "process", None)
    if process is None or process.program != program:
        process = _thread.process = GradingProcess(program, get_worker())
    try:
        return process.ask(task, seconds)
    except (EOFError, OSError):  # it is replaced at the next task
        _thread.process = None
        process.end()
        return DIED


class GradingProcess:
    """A grading process, and the socket to it."""

    def __init__(self, program: str, worker: Any) -> None:
        folder = Path(worker.local_directory) / FOLDER
        folder.mkdir(mode=OWN, exist_ok=True)
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(  # noqa: S603 - our own program
                [sys.executable, "-m", program, str(theirs.fileno()), str(folder), worker.address],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                env=os.environ | {"OMP_NUM_THREADS": "1"},
            )
        self.program, self._socket = program, Connection(ours.detach())

    def ask(self, task: bytes, seconds: float) -> bytes:
        """Return the answer to a task. Raises EOFError or OSError if the process does not give one."""
        self._socket.send_bytes(task)
        if not self._socket.poll(seconds):
            raise TimeoutError
        return self._socket.recv_bytes()

    def end(self) -> None:
        """End the process."""
        self._socket.close()
        self._process.kill()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(END_SECONDS)


@dataclass(frozen=True)
class SentSubmission(Submission):
    """A submission on a worker: its file was found, and read, by the process that sent it."""

    sent: dict[str, Any] = field(kw_only=True, compare=False)

    def sha256(self) -> str:
        """Return the digest of the file where it came from."""
        return str(self.sent["sha256"])

    def require_file(self) -> Path:
        """Return the path of the file here. Raises the error that came with the task."""
        if problem := self.sent["problem"]:
            raise getattr(errors, problem)(self.sent["reason"])
        return self.course.submission(self.student, self.lesson).with_name(self.sent["name"])

    def repairs(self, path: Path) -> Iterator[str]:  # noqa: ARG002 - the signature is Submission's
        """Yield what the sender noted about the file."""
        yield from self.sent["repairs"]


class TaskGrader:
    """Grades one task after the other, and keeps the grader of the last lesson.

    Lessons are kept in `folder`, which other processes of the same worker use too.
    """

    def __init__(self, folder: Path, worker: str, make: MakeGrader) -> None:
        self._folder, self._worker, self._make = folder, worker, make
        self._graders = ExitStack()
        self._ready: tuple[str, bool] = "", False  # the version of the lesson, and whether in the sandbox
        self._grader: Grader | None = None

    def grade(self, task: bytes) -> bytes:
        """Return the answer to a task: the graded submission, or why this worker grades none."""
        try:
            found = self._graded(task)
        except AutograderError as error:
            found = {"refused": type(error).__name__, "message": str(error)}
        except Exception as error:  # the worker stays, and the instructor reads why
            found = {"refused": CourseError.__name__, "message": f"{type(error).__name__}: {error}"}
        return json.dumps(found | {"worker": self._worker}).encode()

    def close(self) -> None:
        """End the grader."""
        self._graders.close()

    def _graded(self, task: bytes) -> dict[str, str]:
        head, _, data = task.partition(b"\n")
        sent = json.loads(head)
        course, lesson, sandboxed = self._course(sent), sent["lesson"], sent["sandboxed"]
        grader = self._grader_for(sent, course)
        student = f"process-{os.getpid()}"  # the name stays where the submission came from
        path = course.submission(student, lesson)
        path.parent.mkdir(mode=OWN, parents=True, exist_ok=True)
        try:
            if name := sent["name"]:
                if Path(name).name != name:
                    raise CourseError("it was sent a file with a path for a name")
                path.with_name(name).write_bytes(data)
            settled = Report.model_validate_json(sent["settled"]) if sent["settled"] else None
            submission = SentSubmission(course, student, lesson, sent["version"], settled, sent=sent)
            attempt, notebook = grade_submission(grader, submission, sandboxed=sandboxed)
        finally:
            shutil.rmtree(course.submitted / student)
        return {"attempt": attempt.model_dump_json(), "notebook": json.dumps(notebook)}

    def _course(self, sent: dict[str, Any]) -> Course:
        """Return a course with the lesson that was sent; written once for each version of it."""
        course, lesson = Course(self._folder / sent["version"]), sent["lesson"]
        course.root.mkdir(mode=OWN, parents=True, exist_ok=True)
        for path, text in (
            (course.text(lesson), sent["text"]),
            (course.release / lesson / f"{lesson}.ipynb", sent["release"]),
            (course.lesson_key(lesson), sent["key"]),
        ):
            if not path.exists():
                path.parent.mkdir(mode=OWN, parents=True, exist_ok=True)
                draft = path.with_name(f".{path.name}.{os.getpid()}")
                draft.write_text(text, encoding="utf-8", newline="")
                draft.replace(path)
        return course

    def _grader_for(self, sent: dict[str, Any], course: Course) -> "Grader":
        """Return the grader for a lesson. Raises CourseError if this machine has another version."""
        wanted = sent["version"], sent["sandboxed"]
        if self._grader is None or self._ready != wanted:
            self._graders.close()
            if lesson_version(course, sent["lesson"]) != sent["version"]:
                raise CourseError(
                    "it has another version of the autograder or the coursework; install the same one "
                    "on every machine"
                )
            self._grader = self._graders.enter_context(self._make(course, sent["sandboxed"]))
            self._ready = wanted
        return self._grader


def main(make: MakeGrader = make_grader) -> None:
    """Answer tasks until the worker closes the socket."""
    worker = Connection(int(sys.argv[1]))
    grader = TaskGrader(Path(sys.argv[2]), sys.argv[3], make)
    try:
        with suppress(EOFError, ConnectionError):
            while True:
                worker.send_bytes(grader.grade(worker.recv_bytes()))
    finally:
        grader.close()


if __name__ == "__main__":
    main()
