"""A course is found from inside it, or else where this program is."""

from pathlib import Path

import pytest
from conftest import ROOT

from autograder.model import course as module
from autograder.model.course import CONFIG, Course
from autograder.model.errors import CourseError


def test_a_course_is_found_from_any_folder_inside_it(tmp_path: Path) -> None:
    """The nearest folder with a configuration counts."""
    (tmp_path / CONFIG).touch()
    (tmp_path / "a" / "b").mkdir(parents=True)
    assert Course.find(tmp_path / "a" / "b") == Course(tmp_path)


def test_outside_a_course_the_programs_own_is_found(tmp_path: Path) -> None:
    """An installed program grades the course that it came with."""
    assert Course.find(tmp_path) == Course(ROOT)


def test_without_any_course_the_error_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It names the file that it looked for."""
    monkeypatch.setattr(module, "__file__", str(tmp_path / "autograder" / "model" / "course.py"))
    with pytest.raises(CourseError, match=f"expected {CONFIG} in .*--course"):
        Course.find(tmp_path)


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
