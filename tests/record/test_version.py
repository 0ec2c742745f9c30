"""A version changes with whatever can change a mark, and with nothing else."""

from pathlib import Path

import pytest

from autograder.course import Course
from autograder.errors import CourseError
from autograder.record import version
from autograder.record.version import lesson_version

from .tiny_course import LESSON


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a grader of a few files in the place of ours."""
    root = tmp_path / "grader"
    for name in ("judge/a.py", "lessons/b.py", "reports/c.py", "align.py", "cli.py"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("1")
    monkeypatch.setattr(version, "PACKAGE", root)
    return root


@pytest.mark.parametrize("name", ["judge/a.py", "lessons/b.py", "align.py", "judge/new.py"])
def test_code_that_marks_counts(course: Course, package: Path, name: str) -> None:
    """A change of judge, lesson checks or alignment is another version."""
    before = lesson_version(course, LESSON)
    (package / name).write_text("2")
    assert lesson_version(course, LESSON) != before


@pytest.mark.parametrize("name", ["reports/c.py", "cli.py"])
def test_code_that_only_tells_does_not_count(course: Course, package: Path, name: str) -> None:
    """A change of how a report looks marks nobody again."""
    before = lesson_version(course, LESSON)
    (package / name).write_text("2")
    assert lesson_version(course, LESSON) == before


def test_text_and_release_count(course: Course) -> None:
    """So does a change of the lesson's text or of what was released."""
    seen = {lesson_version(course, LESSON)}
    for path in (course.text(LESSON), course.release_notebook(LESSON)):
        path.write_text(path.read_text() + "\n")
        seen.add(lesson_version(course, LESSON))
    assert len(seen) == 3


def test_a_lesson_that_is_not_there_is_told(course: Course) -> None:
    """No text, or no release: what was expected is said."""
    with pytest.raises(CourseError, match="05_none"):
        lesson_version(course, "05_none")
    course.release_notebook(LESSON).unlink()
    with pytest.raises(CourseError, match="autograder build"):
        lesson_version(course, LESSON)
