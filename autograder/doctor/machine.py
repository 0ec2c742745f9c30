"""Python, the installed packages, disk and memory."""

import os
import platform
import shutil
import sys
from importlib import metadata

import psutil
from packaging.requirements import Requirement

from autograder.doctor.finding import Finding, ok, problem, warning
from autograder.model.course import Course

OLDEST, NEWEST = (3, 11), (3, 14)  # of the Pythons that requirements.txt is for
PROJECT = "transformer-coursework"
SET_UP = "run 'make setup' in the folder of the project"
GB = 2**30
LITTLE_DISK, NO_DISK = 2 * GB, GB // 2
WORKER_MEMORY = 2 * GB  # of a worker with its sandbox: what it has imported, and a run at its limit


def python(_course: Course) -> Finding:
    """Check whether this Python is one that the project is tested with."""
    version = sys.version_info[:2]
    said = f"{platform.python_version()}, {sys.executable}"
    if version < OLDEST:
        return problem(f"{said} is too old", "install Python 3.11 or newer")
    if version > NEWEST:
        return warning(f"{said} is newer than the tested versions", "if something fails, use 3.14")
    return ok(said)


def packages(_course: Course) -> Finding:
    """Check whether each package that the project declares is installed, in a version that it allows."""
    wanted = _requirements()
    if not wanted:
        return warning(
            "the project's requirements are not known, because it was not installed with 'make setup'", SET_UP
        )
    wrong = [said for each in wanted if (said := _unmet(each))]
    if wrong:
        return problem("; ".join(wrong), SET_UP)
    return ok(f"{len(wanted)} packages, all in allowed versions")


def torch(_course: Course) -> Finding:
    """Tell the version of torch; whether it will do is looked at by `packages` and in the sandbox."""
    try:
        return ok(metadata.version("torch"))
    except metadata.PackageNotFoundError:
        return problem("torch is not installed", SET_UP)


def disk(course: Course) -> Finding:
    """Check how much of the course's disk is free."""
    free = shutil.disk_usage(course.root).free
    said = f"{free / GB:.1f} GB free in {course.root}"
    if free < NO_DISK:
        return problem(said, "make room: reports, feedback and the gradebook are written there")
    if free < LITTLE_DISK:
        return warning(said, "make room before you grade a large class")
    return ok(said)


def memory(_course: Course) -> Finding:
    """Check whether there is memory for as many workers as there are cores."""
    free, cores = psutil.virtual_memory().available, os.cpu_count() or 1
    said = f"{free / GB:.1f} GB free for {cores} workers"
    most = int(free // WORKER_MEMORY)
    if most < 1:
        return problem(said, f"close other programs: a worker needs {WORKER_MEMORY / GB:g} GB")
    if most < cores:
        return warning(said, f"grade with --workers {most}")
    return ok(said)


def _requirements() -> list[Requirement]:
    """Return what the installed project declares for this machine."""
    try:
        declared = metadata.requires(PROJECT) or []
    except metadata.PackageNotFoundError:
        return []
    found = [Requirement(each) for each in declared]
    return [each for each in found if each.marker is None or each.marker.evaluate({"extra": ""})]


def _unmet(wanted: Requirement) -> str:
    """Return what is wrong with a package, '' if it is as declared."""
    try:
        version = metadata.version(wanted.name)
    except metadata.PackageNotFoundError:
        return f"{wanted.name} is not installed"
    if wanted.specifier.contains(version, prereleases=True):
        return ""
    return f"{wanted.name} is {version}, expected {wanted.specifier}"
