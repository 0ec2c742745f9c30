"""Recording a lesson in the gradebook, as releasing it with nbgrader would."""

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from traitlets.config.loader import PyFileConfigLoader

from autograder.build.nbgrader_release import generate
from autograder.course import CONFIG, Course
from autograder.errors import CourseError


def register(course: Course, lesson: str) -> None:
    """Record a lesson's exercises and points in the course's gradebook, made where there is none.

    Doing it again changes nothing; `release/` is not touched. Raises CourseError where the lesson
    was never built, or its exercises changed after submissions had been marked.
    """
    source = course.source / lesson
    if not course.source_notebook(lesson).is_file():
        wanted = course.source_notebook(lesson)
        raise CourseError(f"no lesson '{lesson}': expected {wanted}; run 'autograder build'")
    with TemporaryDirectory() as folder:
        stage = Course(Path(folder).resolve())
        shutil.copytree(source, stage.source / lesson)
        generate(stage.root, lesson, course.gradebook, _course_id(course))


def _course_id(course: Course) -> str:
    """Return the course's id from its configuration; '' where it has none."""
    if not (course.root / CONFIG).is_file():
        return ""
    config = PyFileConfigLoader(CONFIG, path=str(course.root)).load_config()
    return str(config.CourseDirectory.get("course_id", ""))
