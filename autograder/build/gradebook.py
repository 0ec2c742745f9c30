"""Recording a lesson in the gradebook, as releasing it with nbgrader would."""

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from nbgrader.api import Gradebook
from traitlets.config.loader import PyFileConfigLoader

from autograder.build.nbgrader_release import generate, programs_on_path
from autograder.model.course import CONFIG, Course
from autograder.model.errors import CourseError


def register(course: Course, lesson: str) -> None:
    """Record a lesson's exercises and points in the course's gradebook; create it if it does not exist.

    Doing it again changes nothing; `release/` is not touched. Raises CourseError where the lesson
    was never built, or if its exercises changed after submissions had been graded.
    """
    source = course.source / lesson
    if not course.source_notebook(lesson).is_file():
        wanted = course.source_notebook(lesson)
        raise CourseError(f"no lesson '{lesson}': expected {wanted}; run 'autograder build'")
    _require_gradebook(course)
    with TemporaryDirectory() as folder:
        stage = Course(Path(folder).resolve())
        shutil.copytree(source, stage.source / lesson)
        generate(stage.root, lesson, course.gradebook, _course_id(course))


def _require_gradebook(course: Course) -> None:
    """Create the gradebook unless it exists. A draft is renamed once complete, so no partial one appears."""
    if course.gradebook.is_file():
        return
    draft = course.gradebook.with_name(f".{course.gradebook.name}.draft")
    draft.unlink(missing_ok=True)
    with programs_on_path():
        Gradebook(f"sqlite:///{draft}", _course_id(course)).close()
    draft.replace(course.gradebook)


def _course_id(course: Course) -> str:
    """Return the course's id from its configuration; '' if it has none."""
    if not (course.root / CONFIG).is_file():
        return ""
    config = PyFileConfigLoader(CONFIG, path=str(course.root)).load_config()
    return str(config.CourseDirectory.get("course_id", ""))
