"""The skeleton of a new exercise never takes the place of anything."""

import shutil
from pathlib import Path

import pytest
from conftest import ROOT
from lesson_texts import make_course

import autograder.lessons
from autograder.authoring.scaffold import new_exercise
from autograder.model.course import Course
from autograder.model.errors import CourseError


@pytest.fixture
def copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Course:
    """A course that holds the program, with the small lesson: a copy of its checks, and its text."""
    course = make_course(tmp_path / "course")
    shutil.copytree(ROOT / "tests/checks_for_tests/small", course.root / "checks/small")
    monkeypatch.setattr(autograder.lessons, "__path__", [str(course.root / "checks")])
    return course


@pytest.mark.parametrize("name", ["reference", "double", "class", "Bad_Name", "2-fast"])
def test_an_id_that_cannot_be_used_is_refused(copied: Course, tmp_path: Path, name: str) -> None:
    """Nothing is written for an id that is taken, malformed, or the name of another module."""
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises(CourseError):
        new_exercise(copied, "01_small", name)
    assert before == {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}


def test_a_course_outside_the_program_is_refused(tmp_path: Path) -> None:
    """The checks would be written into the program, for every course that it serves."""
    course = make_course(tmp_path)
    text = course.text("01_small").read_bytes()
    with pytest.raises(CourseError, match="run this command in a copy of the whole project"):
        new_exercise(course, "01_small", "triple")
    assert course.text("01_small").read_bytes() == text


def test_three_files_are_written(copied: Course) -> None:
    """The text gets four cells with the next number, and checks and mistakes lie beside the others."""
    written = new_exercise(copied, "01_small", "triple")
    assert [path.name for path in written] == ["01_small.py", "triple.py", "triple.yaml"]
    text = copied.text("01_small").read_text()
    assert "### Exercise 4: `triple` (1 point)" in text
    assert text.count("# %% solution triple\n") == text.count("# %% test triple 1\n") == 1
