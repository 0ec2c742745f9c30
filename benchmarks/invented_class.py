"""The class that is graded: a course of its own, with submissions that hold known mistakes."""

import shutil
from pathlib import Path

from autograder.authoring.release import register
from autograder.demo import invented
from autograder.model.course import CONFIG, Course

STOCK_CONFIG = """c = get_config()
c.CourseDirectory.course_id = "transformer"
c.ExecutePreprocessor.timeout = 1800
c.Execute.timeout = 1800
"""


def make_course(folder: Path, *, stock: bool = False) -> Course:
    """Lay out a course with all lessons and no submissions; `stock` leaves nbgrader as it comes."""
    home = Course.of_program()
    folder.mkdir(parents=True)
    if stock:
        (folder / CONFIG).write_text(STOCK_CONFIG, encoding="utf-8")
    else:
        shutil.copy(home.root / CONFIG, folder)
        shutil.copy(home.key, folder) if home.key.is_file() else None
    for part in (home.source, home.release):
        shutil.copytree(part, folder / part.name)
    return Course(folder)


def hand_in(course: Course, lesson: str, count: int) -> None:
    """Have `count` students hand a lesson in; student number N makes the same mistakes every time."""
    for number in range(count):
        path = course.submission(f"student{number:04d}", lesson)
        if not path.exists():
            path.parent.mkdir(parents=True)
            path.write_text(invented(course, lesson, path.parents[1].name), encoding="utf-8")
    register(course, lesson)
