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
    """A copy of the small lesson's checks, and a course with its text."""
    shutil.copytree(ROOT / "tests/checks_for_tests/small", tmp_path / "checks/small")
    monkeypatch.setattr(autograder.lessons, "__path__", [str(tmp_path / "checks")])
    return make_course(tmp_path / "course")


@pytest.mark.parametrize("name", ["reference", "double", "class", "Bad_Name", "2-fast"])
def test_an_id_that_cannot_be_used_is_refused(copied: Course, tmp_path: Path, name: str) -> None:
    """Nothing is written for an id that is taken, malformed, or the name of another module."""
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises(CourseError):
        new_exercise(copied, "01_small", name)
    assert before == {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}


def test_three_files_are_written(copied: Course) -> None:
    """The text gets four cells with the next number, and checks and mistakes lie beside the others."""
    written = new_exercise(copied, "01_small", "triple")
    assert [path.name for path in written] == ["01_small.py", "triple.py", "triple.yaml"]
    text = copied.text("01_small").read_text()
    assert "### Exercise 4: `triple` (1 point)" in text
    assert text.count("# %% solution triple\n") == text.count("# %% test triple 1\n") == 1
