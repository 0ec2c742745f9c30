"""nbgrader's own parts, set up for a course as its nbgrader_config.py says, and kept quiet."""

import logging

from nbgrader.api import Gradebook
from nbgrader.coursedir import CourseDirectory
from traitlets.config import Config
from traitlets.config.loader import PyFileConfigLoader

from autograder.course import CONFIG, Course

PATIENCE = 30  # seconds: the formgrader, or another run, holds the gradebook for far less


def settings(course: Course) -> Config:
    """Return what the course's nbgrader_config.py sets."""
    return PyFileConfigLoader(CONFIG, path=str(course.root)).load_config()


def course_directory(course: Course, lesson: str, config: Config) -> CourseDirectory:
    """Return nbgrader's view of the course, narrowed to one lesson."""
    return CourseDirectory(
        config=config, root=str(course.root), db_url=database(course), assignment_id=lesson
    )


def gradebook(course: Course, config: Config) -> Gradebook:
    """Open the course's gradebook; close it by `with`."""
    return Gradebook(database(course), config.CourseDirectory.get("course_id", ""))


def database(course: Course) -> str:
    """Return the address of the course's gradebook; who else writes to it is waited for."""
    return f"sqlite:///{course.gradebook}?timeout={PATIENCE}"


def quiet_logger() -> logging.Logger:
    """Return a logger for nbgrader's parts that lets nothing through but their failures."""
    logger = logging.getLogger("autograder.nbgrader")
    logger.setLevel(logging.CRITICAL)
    logger.propagate = False
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())
    return logger
