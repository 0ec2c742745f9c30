"""A grading process for workers, with the fake grader: `python -m grading.cluster_fake`."""

import os
import signal
from pathlib import Path
from typing import Any

from tiny_course import FakeGraded, FakeGrader

from autograder.grading.cluster import main
from autograder.model.course import Course
from autograder.model.errors import SandboxMissingError
from autograder.model.report import Report

SEEN = "CLUSTER_TEST_SEEN"  # names a file that says whether `once` has happened


class Deadly(FakeGrader):
    """Ends the dask worker: at `poison` each time, at `once` the first time only."""

    def grade(self, lesson: str, path: Path, settled: Report | None = None) -> FakeGraded:
        """End the worker, or grade."""
        text, seen = path.read_text(), Path(os.environ[SEEN])
        if "poison" in text or ("once" in text and not seen.exists()):
            seen.touch()
            os.kill(os.getppid(), signal.SIGKILL)
        return super().grade(lesson, path, settled)


def make_deadly(course: Course, sandboxed: bool) -> Any:
    """Make a Deadly grader, on a machine without a sandbox."""
    if sandboxed:
        raise SandboxMissingError("no bubblewrap here")
    return Deadly(course)


if __name__ == "__main__":
    main(make_deadly)
