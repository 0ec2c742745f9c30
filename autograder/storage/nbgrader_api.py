"""nbgrader's own classes, set up for a course as its nbgrader_config.py says."""

import logging

from nbgrader.api import Gradebook
from nbgrader.coursedir import CourseDirectory
from traitlets.config import Config
from traitlets.config.loader import PyFileConfigLoader

from autograder.model.course import CONFIG, Course
from autograder.storage import io_errors


def settings(course: Course) -> Config:
    """Return what the course's nbgrader_config.py sets."""
    return PyFileConfigLoader(CONFIG, path=str(course.root)).load_config()


def course_directory(course: Course, lesson: str, config: Config) -> CourseDirectory:
    """Return nbgrader's view of the course, narrowed to one lesson."""
    return CourseDirectory(
        config=config, root=str(course.root), db_url=database_url(course), assignment_id=lesson
    )


def open_gradebook(course: Course, config: Config) -> Gradebook:
    """Open the course's gradebook; use it in a `with`, which closes it."""
    return Gradebook(database_url(course), config.CourseDirectory.get("course_id", ""))


def database_url(course: Course) -> str:
    """Return the address of the gradebook; its users wait for each other."""
    return f"sqlite:///{course.gradebook}?timeout={io_errors.PATIENCE}"


def quiet_logger() -> logging.Logger:
    """Return a logger that shows only nbgrader's critical messages."""
    logger = logging.getLogger("autograder.nbgrader")
    logger.setLevel(logging.CRITICAL)
    logger.propagate = False
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())
    return logger
