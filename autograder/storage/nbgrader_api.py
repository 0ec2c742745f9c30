"""nbgrader's own classes, set up for a course as its nbgrader_config.py says."""

import logging

from nbgrader.api import Gradebook
from nbgrader.coursedir import CourseDirectory
from traitlets.config import Config

from autograder.model.course import Course
from autograder.model.nbgrader_config import course_id, database_url


def course_directory(course: Course, lesson: str, config: Config) -> CourseDirectory:
    """Return nbgrader's view of the course, narrowed to one lesson."""
    return CourseDirectory(
        config=config, root=str(course.root), db_url=database_url(course), assignment_id=lesson
    )


def open_gradebook(course: Course) -> Gradebook:
    """Open the course's gradebook; use it in a `with`, which closes it."""
    return Gradebook(database_url(course), course_id(course))


def quiet_logger() -> logging.Logger:
    """Return a logger that shows only nbgrader's critical messages."""
    logger = logging.getLogger("autograder.nbgrader")
    logger.setLevel(logging.CRITICAL)
    logger.propagate = False
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())
    return logger
