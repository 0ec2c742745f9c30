"""Releasing a lesson with nbgrader's own generate_assignment, run quietly through its Python interface.

A release is written, or recorded in the gradebook, or both; before it is written, it is searched for
anything that only the instructor should see.
"""

import logging
import shutil
from collections.abc import Iterator
from logging.handlers import BufferingHandler
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from nbgrader.api import Gradebook
from nbgrader.converters import GenerateAssignment
from nbgrader.coursedir import CourseDirectory
from traitlets.config import Config

from autograder.model.course import Course
from autograder.model.errors import CourseError, LessonTextError
from autograder.model.lesson_text import LessonText, Region, inside, marker_lines, without
from autograder.model.nbgrader_config import course_id, database_url, in_a_file, programs_on_path

MOST_ERRORS = 1000  # errors of nbgrader's that are kept, to be reported only if it fails


def generate_assignment(root: Path, lesson: str, gradebook: str = "", course: str = "") -> Path:
    """Release a lesson of the course folder `root`, and return the folder it was released to.

    With a gradebook's address, the assignment is recorded there too; without, none is needed. Raises
    CourseError with nbgrader's reason where nbgrader fails.
    """
    log, kept = logging.Logger("nbgrader", logging.ERROR), BufferingHandler(MOST_ERRORS)
    log.addHandler(kept)
    config = Config()
    config.CourseDirectory.root = str(root)
    config.CourseDirectory.assignment_id = lesson
    config.GenerateAssignment.force = True
    config.GenerateAssignment.no_database = not gradebook
    config.SaveCells.enabled = bool(gradebook)
    if course:
        config.CourseDirectory.course_id = course
    if gradebook:
        config.CourseDirectory.db_url = gradebook
    try:
        with programs_on_path():
            directory = CourseDirectory(config=config, log=log)
            GenerateAssignment(coursedir=directory, config=config, log=log).start()
    except Exception as error:
        logged = [record.getMessage().strip() for record in kept.buffer]
        traces = [message for message in logged if message.startswith("Traceback")]
        reason = traces[-1].splitlines()[-1] if traces else str(error)
        raise CourseError(f"nbgrader could not release '{lesson}': {reason}") from error
    return root / "release" / lesson


def register(course: Course, lesson: str) -> None:
    """Record a lesson's exercises and points in the course's gradebook; create it if it does not exist.

    Doing it again changes nothing; `release/` is not touched. Raises CourseError where the lesson
    was never built, or if its exercises changed after submissions had been graded.
    """
    wanted = course.source_notebook(lesson)
    if not wanted.is_file():
        raise CourseError(f"no lesson '{lesson}': expected {wanted}; run 'autograder build'")
    if in_a_file(course) and not course.gradebook.is_file():
        _create_gradebook(course)
    with TemporaryDirectory() as folder:
        stage = Course(Path(folder).resolve())
        shutil.copytree(wanted.parent, stage.source / lesson)
        generate_assignment(stage.root, lesson, database_url(course), course_id(course))


def _create_gradebook(course: Course) -> None:
    """Create the gradebook's file. A draft is renamed, so no partial one appears."""
    draft = course.gradebook.with_name(f".{course.gradebook.name}.draft")
    draft.unlink(missing_ok=True)
    with programs_on_path():
        Gradebook(f"sqlite:///{draft}", course_id(course)).close()
    draft.replace(course.gradebook)


def check_release(lesson: LessonText, notebook: Any) -> None:
    """Raise LessonTextError where a released notebook shows what only the instructor should see."""
    for released in notebook.cells:
        for leak in _leaks(lesson, released):
            line = next((cell.line for cell in lesson.cells if cell.id == released.id), 0)
            raise LessonTextError(leak, lesson.path, cell=released.id, line=line)


def _leaks(lesson: LessonText, released: Any) -> Iterator[str]:
    """Yield what a released cell shows: a marker, a hidden test, part of a model answer, an output."""
    for _offset, line in marker_lines(released.source):
        yield f"the release still shows the marker '{line.strip()}'"
    if f'grade("{lesson.name}/' in released.source:
        yield "the release still shows its hidden test"
    shown = _lines(released.source)
    for cell in lesson.cells:
        if not cell.kind.is_answered:
            continue
        answer, scheme = (inside(cell.text, region) for region in (Region.SOLUTION, Region.SCHEME))
        if cell.id == released.id:  # any line that only its regions have
            secret = {*_lines(answer), *_lines(scheme)} - set(_lines(without(cell.text, *Region)))
            for left in sorted(secret & set(shown)):
                yield f"the release still shows the model answer's '{left}'"
        lines = _lines(answer)
        if len(lines) > 1 and "\n".join(lines) in "\n".join(shown):
            yield f"the release shows the whole model answer of '{cell.exercise}'"
    if released.get("outputs"):
        yield "the release shows an output"


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.split("\n") if line.strip()]
