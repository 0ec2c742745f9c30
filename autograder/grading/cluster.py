"""Grades submissions on the workers of a dask.distributed scheduler.

If a worker dies, dask gives its submissions to others. A submission whose grading process dies, or
that several workers died with, is graded again alone. If that fails too, it is left to a person.
"""

from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager
from itertools import islice

from distributed import Client, KilledWorker

from autograder.grading.cluster_access import Cluster
from autograder.grading.cluster_task import make_task, read_answer
from autograder.grading.cluster_worker import PROGRAM, grade
from autograder.grading.grade_submission import Result
from autograder.grading.pool import MAX_SECONDS, Pool
from autograder.model.errors import CourseError
from autograder.submissions.submission import Submission

Answer = tuple[str, bytes]  # the address of a worker, and its answer

CONNECT_SECONDS = 30
WORKER_SECONDS = 300  # for the first worker: a batch system starts it when there is room


class ClusterPool(Pool):
    """Grades submissions on a cluster, with as many workers as it has at the time.

    `workers` counts only the processes that make feedback pages on this machine. `program` is the
    module that a worker runs as its grading process.
    """

    def __init__(
        self,
        cluster: Cluster,
        workers: int,
        *,
        sandboxed: bool,
        seconds: float = MAX_SECONDS,
        program: str = PROGRAM,
    ) -> None:
        super().__init__(workers, sandboxed=sandboxed, seconds=seconds)
        self.cluster, self.program = cluster, program

    def _results(
        self, submissions: Iterable[Submission], _workers: int
    ) -> Generator[tuple[Submission, Result | None], None, None]:
        """Yield each submission with its result, or with None if what graded it died.

        At most two submissions for each thread of a worker are out at any time.
        """
        waiting, out = iter(submissions), dict[Future[Answer], Submission]()
        with _connected(self.cluster) as client:
            executor = client.get_executor(pure=False)
            while True:
                for submission in islice(waiting, max(0, self._room(client) - len(out))):
                    task = make_task(submission, sandboxed=self.sandboxed)
                    out[executor.submit(grade, task, self.seconds, self.program)] = submission
                if not out:
                    return
                for future in wait(out, return_when=FIRST_COMPLETED).done:
                    submission = out.pop(future)
                    yield submission, self._result(future, submission)

    def _room(self, client: Client) -> int:
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

    def _result(self, future: Future[Answer], submission: Submission) -> Result | None:
        """Return what a finished task gave, and None if several workers died with it."""
        if future.cancelled():
            raise self._lost()
        problem = future.exception()
        if problem is None:
            worker, answer = future.result()
            return read_answer(answer, submission, worker)
        if isinstance(problem, KilledWorker):
            return None
        raise CourseError(
            f"a worker cannot grade ({type(problem).__name__}: {problem}); the scheduler and every worker "
            "need the same version of the autograder and of its requirements"
        ) from problem


@contextmanager
def _connected(cluster: Cluster) -> Iterator[Client]:
    """Connect to the scheduler, and wait until it has a worker. Raises CourseError for neither."""
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
