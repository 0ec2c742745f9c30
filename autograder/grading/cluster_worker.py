"""What a dask worker runs for each task: it hands the submission to a grading process and waits.

Each of the worker's threads has a grading process of its own, kept from one submission to the next. A
process that dies, or takes too long, is replaced at the next task.
"""

import os
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path

from distributed import get_worker

from autograder.grading.cluster_task import DIED, Task

FOLDER = "autograder"  # below the worker's own directory, which dask removes
PROGRAM = "autograder.grading.cluster_child"
END_SECONDS = 3.0


class Child:
    """A grading process, and the socket to it."""

    def __init__(self, program: str, folder: Path) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(  # noqa: S603 - our own program
                [sys.executable, "-m", program, str(theirs.fileno()), str(folder)],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                env=os.environ | {"OMP_NUM_THREADS": "1"},
            )
        self.program, self._socket = program, Connection(ours.detach())

    def ask(self, task: Task, seconds: float) -> bytes:
        """Return the answer to a task. Raises EOFError or OSError if the process does not give one."""
        self._socket.send_bytes(task.head)
        self._socket.send_bytes(task.data)
        if not self._socket.poll(seconds):
            raise TimeoutError
        return self._socket.recv_bytes()

    def end(self) -> None:
        """End the process."""
        self._socket.close()
        self._process.kill()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(END_SECONDS)


_own = threading.local()


def grade(task: Task, seconds: float, program: str = PROGRAM) -> tuple[str, bytes]:
    """Grade one submission within `seconds`; return this worker's address and the answer."""
    worker = get_worker()
    child: Child | None = getattr(_own, "child", None)
    if child is None or child.program != program:
        folder = Path(worker.local_directory) / FOLDER
        folder.mkdir(mode=0o700, exist_ok=True)
        child = _own.child = Child(program, folder)
    try:
        return worker.address, child.ask(task, seconds)
    except (EOFError, OSError):
        _own.child = None
        child.end()
        return worker.address, DIED
