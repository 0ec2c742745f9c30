"""A course is found from inside it, and nowhere else."""

from pathlib import Path

import pytest
from conftest import ROOT

from autograder.model.course import CONFIG, Course
from autograder.model.errors import CourseError


def test_a_course_is_found_from_any_folder_inside_it(tmp_path: Path) -> None:
    """The nearest folder with a configuration counts."""
    (tmp_path / CONFIG).touch()
    (tmp_path / "a" / "b").mkdir(parents=True)
    assert Course.find(tmp_path / "a" / "b") == Course(tmp_path)


def test_outside_a_course_there_is_none(tmp_path: Path) -> None:
    """Never the program's own folder: the error names the file that was looked for, and what to do."""
    with pytest.raises(CourseError, match=f"expected {CONFIG} in .*--course"):
        Course.find(tmp_path)


def test_a_named_folder_is_the_course_itself(tmp_path: Path) -> None:
    """A folder inside a course is none, nor is a folder that is not there."""
    (tmp_path / CONFIG).touch()
    (tmp_path / "inside").mkdir()
    assert Course.at(tmp_path) == Course(tmp_path)
    for name, found in (("inside", "has none"), ("nowhere", "is no folder")):
        with pytest.raises(CourseError, match=f"expected {CONFIG} in .*{name}, which {found}"):
            Course.at(tmp_path / name)


def test_the_program_came_with_a_course() -> None:
    """Which is what `autograder demo` shows."""
    assert Course.of_program() == Course(ROOT)


@pytest.mark.parametrize("wanted", ["3", "03", "03_attention"])
def test_a_number_names_a_lesson(wanted: str) -> None:
    """With or without its zero, or the whole name."""
    assert Course(ROOT).lesson(wanted) == "03_attention"


@pytest.mark.parametrize("wanted", ["12", "", "0", "attention"])
def test_a_lesson_that_is_not_there_is_named_with_those_that_are(wanted: str) -> None:
    """The message lists what there is."""
    with pytest.raises(CourseError, match=f"no lesson '{wanted}': there are 01_embeddings"):
        Course(ROOT).lesson(wanted)


def test_a_course_without_lessons_says_where_they_should_be(tmp_path: Path) -> None:
    """An empty list would not help."""
    with pytest.raises(CourseError, match=r"no lesson '03': expected its text in .*source"):
        Course(tmp_path).lesson("03")
