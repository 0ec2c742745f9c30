"""Recording a lesson in the gradebook, as releasing it with nbgrader would."""

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from nbgrader.api import Gradebook

from autograder.authoring.nbgrader_release import generate, programs_on_path
from autograder.model.course import Course
from autograder.model.errors import CourseError
from autograder.model.nbgrader_config import course_id, database_url, in_a_file


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
        generate(stage.root, lesson, database_url(course), course_id(course))


def _require_gradebook(course: Course) -> None:
    """Create the gradebook's file unless it exists. A draft is renamed, so no partial one appears."""
    if not in_a_file(course) or course.gradebook.is_file():
        return
    draft = course.gradebook.with_name(f".{course.gradebook.name}.draft")
    draft.unlink(missing_ok=True)
    with programs_on_path():
        Gradebook(f"sqlite:///{draft}", course_id(course)).close()
    draft.replace(course.gradebook)
