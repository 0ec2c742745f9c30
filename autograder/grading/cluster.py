"""Grades submissions on the workers of a dask.distributed scheduler.

If a worker dies, dask gives its submissions to others. A submission whose grading process dies, or
that several workers died with, is graded again alone. If that fails too, it is left to a person.

A task holds the lesson's text and release, its key and one submitted file; the student's name stays here.
So the connection is encrypted and both ends show certificates, unless the instructor says otherwise. See
https://distributed.dask.org/en/stable/tls.html
"""

import hashlib
import json
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nbformat

from autograder.grading.cluster_worker import PROGRAM, Task, answer
from autograder.grading.grade_submission import Result
from autograder.grading.pool import MAX_SECONDS, Pool, as_graded
from autograder.model.errors import CourseError, SandboxMissingError, SubmissionError
from autograder.storage.attempts import Attempt
from autograder.storage.course_key import lesson_key
from autograder.submissions.notebook_file import MAX_BYTES, read_submitted
from autograder.submissions.submission import Submission

if TYPE_CHECKING:  # dask takes a second to import
    from distributed import Client, Security

ENCRYPTED = "tls://"
FILES = AUTHORITY, CERTIFICATE, PRIVATE_KEY = "ca.pem", "cert.pem", "key.pem"
CONNECT_SECONDS = 30
WORKER_SECONDS = 300  # for the first worker: a batch system starts it when there is room


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
        self,
        cluster: Cluster,
        workers: int | None = None,
        *,
        sandboxed: bool,
        seconds: float = MAX_SECONDS,
        program: str = PROGRAM,
        persistent: bool = False,
    ) -> None:
        super().__init__(workers, sandboxed=sandboxed, seconds=seconds, persistent=persistent)
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


def make_task(submission: Submission, *, sandboxed: bool) -> Task:
    """Return the task for a submission, with its file or the reason why there is none to grade."""
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
