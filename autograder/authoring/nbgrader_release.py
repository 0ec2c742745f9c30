"""nbgrader's own generate_assignment, run quietly through its Python interface."""

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nbgrader.converters import GenerateAssignment
from nbgrader.coursedir import CourseDirectory
from traitlets.config import Config

from autograder.model.errors import CourseError


class _Kept(logging.Handler):
    """Keeps what nbgrader logs as errors, to be reported only if it fails."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage().strip())

    def reason(self, error: Exception) -> str:
        """Return what went wrong: the last line of a traceback that was logged, else the error."""
        traces = [message for message in self.messages if message.startswith("Traceback")]
        return traces[-1].splitlines()[-1] if traces else str(error)


def generate(root: Path, lesson: str, gradebook: str = "", course_id: str = "") -> Path:
    """Release a lesson of the course folder `root`, and return the folder it was released to.

    With a gradebook's address, the assignment is recorded there too; without, none is needed. Raises
    CourseError with nbgrader's reason where nbgrader fails.
    """
    log, kept = logging.Logger("nbgrader", logging.ERROR), _Kept()
    log.addHandler(kept)
    config = _config(root, lesson, gradebook, course_id)
    try:
        with programs_on_path():
            directory = CourseDirectory(config=config, log=log)
            GenerateAssignment(coursedir=directory, config=config, log=log).start()
    except Exception as error:
        reason = kept.reason(error)
        raise CourseError(f"nbgrader could not release '{lesson}': {reason}") from error
    return root / "release" / lesson


@contextmanager
def programs_on_path() -> Iterator[None]:
    """Let nbgrader find alembic, which is installed beside Python: a new gradebook needs it."""
    before = os.environ.get("PATH", os.defpath)
    os.environ["PATH"] = os.pathsep.join((str(Path(sys.executable).parent), before))
    try:
        yield
    finally:
        os.environ["PATH"] = before


def _config(root: Path, lesson: str, gradebook: str, course_id: str) -> Config:
    config = Config()
    config.CourseDirectory.root = str(root)
    config.CourseDirectory.assignment_id = lesson
    config.GenerateAssignment.force = True
    config.GenerateAssignment.no_database = not gradebook
    config.SaveCells.enabled = bool(gradebook)
    if course_id:
        config.CourseDirectory.course_id = course_id
    if gradebook:
        config.CourseDirectory.db_url = gradebook
    return config
