"""Grades submissions on the workers of a dask.distributed scheduler, and looks there for the lines to blame.

If a worker dies, dask gives its submissions to others. A submission whose grading process dies, or
that several workers died with, is graded again alone. If that fails too, it is left to a person.

A task holds the lesson's text and release, its key and one submitted file; the student's name stays here.
So the connection is encrypted and both ends show certificates, unless the instructor says otherwise. See
https://distributed.dask.org/en/stable/tls.html

A worker runs `answer` for each task: a line of JSON followed by the submitted file. An answer is JSON.
Nothing that a submission made is pickled. Each thread of the worker has a grading process of its own, kept
from one task to the next, so a submission that ends its process, or takes too long, costs neither the worker
nor its connection to the scheduler. This module is that process as well: `python -m` it, with a socket, a
folder and the address of the worker. It ends when the worker closes the socket.
"""

import hashlib
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nbformat

from autograder.grading.grade_submission import Result, grade_submission
from autograder.grading.pool import MakeGrader, Pool, as_graded, make_grader
from autograder.grading.version import lesson_version
from autograder.model import errors
from autograder.model.attempt import Attempt
from autograder.model.course import Course
from autograder.model.errors import AutograderError, CourseError, SandboxMissingError, SubmissionError
from autograder.model.report import Report
from autograder.storage.course_key import lesson_key
from autograder.submissions.notebook_file import MAX_BYTES, read_submitted
from autograder.submissions.submission import Submission

if TYPE_CHECKING:  # dask takes a second to import
    from distributed import Client, Security

    from autograder.grading.grader import Grader

ENCRYPTED = "tls://"
FILES = AUTHORITY, CERTIFICATE, PRIVATE_KEY = "ca.pem", "cert.pem", "key.pem"
CONNECT_SECONDS = 30
WORKER_SECONDS = 300  # for the first worker: a batch system starts it when there is room
FOLDER = "autograder"  # below the worker's own directory, which dask removes
OWN = 0o700  # the lesson's key lies in the folder: nobody else may look
PROGRAM = "autograder.grading.cluster"
DIED = b"{}"  # the answer if the grading process ended or took too long
END_SECONDS = 3.0

_thread = threading.local()


@dataclass(frozen=True)
class Cluster:
    """A scheduler's address, and a folder with certificates: ca.pem, cert.pem and key.pem.

    Without a folder, dask's own configuration names them. `in_clear` allows a connection that is
    neither encrypted nor authenticated.
    """

    address: str
    folder: Path | None = None
    in_clear: bool = False

    def security(self) -> "Security | None":
        """Return the certificates to connect with; None for a connection in clear.

        Raises CourseError if the address is not encrypted and nobody allowed that, or if certificates
        are missing.
        """
        if not self.address.startswith(ENCRYPTED):
            if self.in_clear and self.folder is None:
                return None
            raise CourseError(
                f"the connection to {self.address} would not be encrypted: expected an address that "
                f"begins with {ENCRYPTED}; the lesson's key and the submissions would travel in clear "
                "(--cluster-in-clear allows it, for a network that is yours alone)"
            )
        from distributed import Security

        if self.folder is None:
            security = Security(require_encryption=True)
            found = security.get_tls_config_for_role("client")
            if not (found["ca_file"] and found["cert"]):
                raise CourseError(
                    "no certificates to connect with: name a folder with --cluster-security, or set "
                    "distributed.comm.tls in dask's configuration"
                )
            return security
        if missing := [name for name in FILES if not (self.folder / name).is_file()]:
            raise CourseError(f"no {', '.join(missing)} in {self.folder}: expected {', '.join(FILES)}")
        return Security(
            require_encryption=True,
            tls_ca_file=str(self.folder / AUTHORITY),
            tls_client_cert=str(self.folder / CERTIFICATE),
            tls_client_key=str(self.folder / PRIVATE_KEY),
        )


class ClusterPool(Pool):
    """Grades submissions on a cluster, with as many workers as it has at the time.

    `workers` counts only the processes that make feedback pages on this machine. `program` is the
    module that a worker runs as its grading process.
    """

    def __init__(
        self, cluster: Cluster, workers: int | None = None, *, sandboxed: bool, program: str = PROGRAM
    ) -> None:
        super().__init__(workers, sandboxed=sandboxed)
        self.cluster, self.program = cluster, program

    def _results(
        self, submissions: Iterable[Submission], _workers: int
    ) -> Generator[tuple[Submission, Result | None], None, None]:
        """Yield each submission with its result, or with None if what graded it died."""
        with _connected(self.cluster) as client:
            executor = client.get_executor(pure=False)

            def schedule(submission: Submission) -> Future[bytes]:
                task = make_task(submission, sandboxed=self.sandboxed)
                future: Future[bytes] = executor.submit(answer, task, self.seconds, self.program)
                return future

            for submission, future in as_graded(submissions, schedule, lambda: self._room(client)):
                yield submission, self._result(future, submission)

    def _room(self, client: "Client") -> int:
        """Return how many submissions may be out: two for each thread of the workers of now."""
        try:
            return 2 * sum(client.nthreads().values()) or 1
        except OSError as error:
            raise self._lost() from error

    def _lost(self) -> CourseError:
        return CourseError(
            f"the connection to {self.cluster.address} was lost; what had been graded is recorded, and the "
            "next run goes on from there"
        )

    def _result(self, future: Future[bytes], submission: Submission) -> Result | None:
        """Return what a finished task gave, and None if several workers died with it."""
        from distributed import KilledWorker

        if future.cancelled():
            raise self._lost()
        problem = future.exception()
        if problem is None:
            return read_answer(future.result(), submission)
        if isinstance(problem, KilledWorker):
            return None
        raise CourseError(
            f"a worker cannot grade ({type(problem).__name__}: {problem}); the scheduler and every worker "
            "need the same version of the autograder and of its requirements"
        ) from problem


class Task(bytes):
    """A task, which dask's logs do not show: its representation says nothing."""

    def __repr__(self) -> str:
        return "Task()"


def make_task(submission: Submission, *, sandboxed: bool) -> Task:
    """Return the task for a submission, with its file or the reason why there is none to grade.

    A `graded` one goes without the student's name.
    """
    graded = submission.graded and submission.graded.model_copy(update={"student": ""})
    course, lesson = submission.course, submission.lesson
    sent: dict[str, Any] = {
        "lesson": lesson,
        "version": submission.version,
        "sandboxed": sandboxed,
        "text": course.text(lesson).read_bytes().decode(),
        "release": course.release_notebook(lesson).read_bytes().decode(),
        "key": lesson_key(course, lesson).hex(),
        "settled": submission.settled.model_dump_json() if submission.settled else "",
        "problem": "",
        "graded": graded.model_dump_json() if graded else "",
    }
    try:
        path = submission.require_file()
        data = read_submitted(path, MAX_BYTES, course)
        repairs = list(submission.repairs(path))
    except SubmissionError as error:
        data, problem = b"", type(error).__name__
        sent |= {"name": "", "problem": problem, "reason": str(error), "sha256": submission.sha256()}
    else:
        sent |= {"name": path.name, "repairs": repairs, "sha256": hashlib.sha256(data).hexdigest()}
    return Task(json.dumps(sent).encode() + b"\n" + data)


def read_answer(text: bytes, submission: Submission) -> Result | None:
    """Return the result of a submission, and None if the process that graded it died.

    Raises the AutograderError with which a worker refused, or CourseError for an answer to some other
    question.
    """
    document = json.loads(text)
    if "refused" in document:
        missing = document["refused"] == SandboxMissingError.__name__
        kind = SandboxMissingError if missing else CourseError
        raise kind(f"worker {document['worker']} refuses to grade: {document['message']}")
    if "attempt" not in document:
        return None
    attempt = Attempt.model_validate_json(document["attempt"])
    if (attempt.lesson, attempt.version) != (submission.lesson, submission.version):
        raise CourseError(f"worker {document['worker']} graded another lesson, or another version of it")
    notebook = nbformat.from_dict(json.loads(document["notebook"]))
    return attempt.model_copy(update={"student": submission.student}), notebook


@contextmanager
def _connected(cluster: Cluster) -> "Iterator[Client]":
    """Connect to the scheduler, and wait until it has a worker. Raises CourseError for neither."""
    from distributed import Client

    security = cluster.security()
    try:
        client: Client = Client(
            cluster.address,
            security=security,
            timeout=CONNECT_SECONDS,
            set_as_default=False,
            name="autograder",
        )
    except (OSError, ValueError, TypeError) as error:
        raise CourseError(
            f"no scheduler answers at {cluster.address}: is the address right, and is it running? ({error})"
        ) from error
    with client:  # tasks that are still out are cancelled when it closes
        try:
            client.wait_for_workers(1, timeout=WORKER_SECONDS)
        except TimeoutError:
            raise CourseError(
                f"{cluster.address} has had no worker for {WORKER_SECONDS} s: start some"
            ) from None
        yield client


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
        """Kill the process."""
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
            graded = Attempt.model_validate_json(sent["graded"]) if sent["graded"] else None
            submission = SentSubmission(course, student, lesson, sent["version"], settled, graded, sent=sent)
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
    with (
        closing(TaskGrader(Path(sys.argv[2]), sys.argv[3], make)) as grader,
        suppress(EOFError, ConnectionError),
    ):
        while True:
            worker.send_bytes(grader.grade(worker.recv_bytes()))


if __name__ == "__main__":
    main()
