"""The machine is looked at through the standard library, psutil and the metadata of packages."""

from collections import namedtuple
from pathlib import Path

import pytest

from autograder.doctor import machine
from autograder.doctor.finding import Status
from autograder.model.course import Course

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
def test_a_full_disk_is_a_problem(
    monkeypatch: pytest.MonkeyPatch, gigabytes: float, status: str
) -> None:
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
