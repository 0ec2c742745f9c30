"""Which state of lesson and grader gave a mark."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

from autograder.course import Course
from autograder.errors import CourseError

PACKAGE = Path(__file__).resolve().parent.parent
NEVER_CHANGE_A_MARK = {"record", "reports", "build"}  # folders that only write down or prepare


def lesson_version(course: Course, lesson: str) -> str:
    """Return a digest of the lesson's text, what was released of it, and the grader's code.

    A submission that was marked under another version is marked again. Raises CourseError if the
    lesson has no text or was never released.
    """
    if not course.text(lesson).is_file():
        raise CourseError(f"no lesson '{lesson}': expected its text in {course.text(lesson)}")
    digest = hashlib.sha256(course.text(lesson).read_bytes())
    digest.update(course.release_notebook(lesson).read_bytes())
    for path in _code(PACKAGE):
        digest.update(path.relative_to(PACKAGE).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _code(package: Path) -> Iterator[Path]:
    """Yield the modules that can change a mark: those in the folders that do the marking."""
    for path in sorted(package.rglob("*.py")):
        folders = path.relative_to(package).parts[:-1]
        if folders and folders[0] not in NEVER_CHANGE_A_MARK:
            yield path
    yield from (
        path
        for name in ("align", "answer_text", "marker", "matching", "notebook_file", "results")
        if (path := package / f"{name}.py").is_file()
    )
