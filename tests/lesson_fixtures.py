"""Courses and lessons for the tests of the build."""

import shutil
from pathlib import Path

import pytest
from lesson_texts import LESSON, make_course, read_text

from autograder.authoring.build import build
from autograder.model.course import Course
from autograder.model.lesson_text import LessonText


@pytest.fixture
def course(tmp_path: Path) -> Course:
    """Return a course with one lesson's text, nothing built."""
    return make_course(tmp_path / "course")


@pytest.fixture(scope="session")
def built_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a course folder that was built, model answers run; for copying only."""
    root = tmp_path_factory.mktemp("built") / "course"
    build(make_course(root))
    return root


@pytest.fixture
def built(built_once: Path, tmp_path: Path) -> Course:
    """Return a course that is built and current."""
    root = tmp_path / "built"
    shutil.copytree(built_once, root)
    return Course(root)


@pytest.fixture
def lesson(tmp_path: Path) -> LessonText:
    """Return the cells of the small lesson."""
    return read_text(tmp_path, LESSON)
