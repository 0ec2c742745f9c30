"""The course is looked at as grading uses it."""

import os
import shutil
from pathlib import Path

import pytest
from conftest import ROOT

from autograder.authoring.release import programs_on_path
from autograder.doctor import course as checks
from autograder.model.course import CONFIG, Course
from autograder.storage.gradebook import open_gradebook


@pytest.fixture
def course(tmp_path: Path) -> Course:
    """A course folder with the project's configuration."""
    shutil.copy(ROOT / CONFIG, tmp_path / CONFIG)
    return Course(tmp_path)


def test_the_configuration_of_the_project_is_fine(course: Course) -> None:
    """As it is, it names the autograder."""
    assert checks.configuration(course).status == "ok"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("c = get_config(\n", "SyntaxError"),
        ("c = get_config()\nc.CourseDirectory.course_id = 'mine'\n", "Autograde"),
        (None, "Autograde"),
    ],
)
def test_a_configuration_without_the_autograder_is_a_problem(
    course: Course, text: str | None, said: str
) -> None:
    """Then nbgrader would run submissions by itself."""
    path = course.root / CONFIG
    path.unlink() if text is None else path.write_text(text)
    found = checks.configuration(course)
    assert found.status == "problem"
    assert said in found.said
    assert CONFIG in found.fix


def test_a_gradebook_is_opened(course: Course) -> None:
    """One that is not there yet is not made."""
    assert checks.gradebook(course).status == "ok"
    assert not course.gradebook.exists()
    with programs_on_path(), open_gradebook(course) as book:
        book.add_student("ada")
    assert "1 students" in checks.gradebook(course).said


def test_a_damaged_gradebook_is_a_problem(course: Course) -> None:
    """It says what the database says."""
    course.gradebook.write_bytes(b"this is no database" * 100)
    found = checks.gradebook(course)
    assert found.status == "problem"
    assert "not a database" in found.said


def test_a_folder_that_can_be_written_is_fine(course: Course) -> None:
    """Nothing is left behind."""
    before = sorted(course.root.iterdir())
    assert checks.writable(course).status == "ok"
    assert sorted(course.root.iterdir()) == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_a_problem(course: Course) -> None:
    """It is named."""
    course.root.chmod(0o500)
    try:
        assert str(course.root) in checks.writable(course).said
    finally:
        course.root.chmod(0o700)


def test_a_file_in_the_place_of_a_folder_cannot_be_written(
    course: Course, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error of the system is told."""

    def refuse(**_: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(checks.tempfile, "TemporaryFile", refuse)
    found = checks.writable(course)
    assert found.status == "problem"
    assert "Read-only file system" in found.said


def test_an_exchange_is_only_needed_to_watch(course: Course) -> None:
    """Without one there is a warning."""
    assert checks.exchange(course).status == "warning"
    inbound = course.root / "exchange" / "transformer" / "inbound"
    inbound.mkdir(parents=True)
    with (course.root / CONFIG).open("a") as file:
        file.write(f"\nc.Exchange.root = {str(course.root / 'exchange')!r}\n")
    assert checks.exchange(course).said == str(inbound)
