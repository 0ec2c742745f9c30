"""Checks the machine and the course: what grading and lessons need, and what to do if it is missing."""

import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from importlib import metadata

import psutil
from packaging.requirements import Requirement

from autograder.model.course import CONFIG, Course
from autograder.model.errors import AutograderError, SandboxMissingError, SettingsError
from autograder.model.nbgrader_config import gradebook_place, in_a_file, settings
from autograder.reports.feedback_exporter import require_settings
from autograder.sandbox.bubblewrap import find_bubblewrap
from autograder.sandbox.client import WarmProcess
from autograder.sandbox.start import require_sandbox, sandbox_problem
from autograder.sandbox.system_calls import filter_programs
from autograder.storage.exchange import CourseExchange
from autograder.storage.gradebook import open_gradebook
from autograder.storage.io_errors import plain_io_errors

OLDEST, NEWEST = (3, 11), (3, 14)  # of the Pythons that requirements.txt is for
PROJECT = "transformer-coursework"
SET_UP = "run 'make setup' in the folder of the project"
GB = 2**30
LITTLE_DISK, NO_DISK = 2 * GB, GB // 2
WORKER_MEMORY = 2 * GB  # of a worker with its sandbox: what it has imported, and a run at its limit
CELL_SECONDS = 10.0
SIGNS = "√ᵀ×–"  # in figures and pages
FONTS = "sudo apt-get install fontconfig fonts-dejavu"
PLUGINS = {  # without the first, nbgrader runs submissions in a kernel of its own, without a sandbox
    "Autograde": "autograder.nbgrader_plugin.SubmissionExporter",
    "GenerateFeedback": "autograder.reports.feedback_exporter.FeedbackExporter",
}


class Status(StrEnum):
    """How a check ended. A problem prevents grading; a warning affects only something else."""

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True)
class Finding:
    """What a check found, in a sentence, and what to do about it."""

    status: Status
    said: str
    fix: str = ""


ok = partial(Finding, Status.OK)
warning = partial(Finding, Status.WARNING)
problem = partial(Finding, Status.PROBLEM)


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
    try:
        declared = [Requirement(each) for each in metadata.requires(PROJECT) or ()]
    except metadata.PackageNotFoundError:
        declared = []
    wanted = [each for each in declared if each.marker is None or each.marker.evaluate({"extra": ""})]
    if not wanted:
        return warning(
            "the project's requirements are not known, because it was not installed with 'make setup'", SET_UP
        )
    wrong = [said for each in wanted if (said := _unmet(each))]
    if wrong:
        return problem("; ".join(wrong), SET_UP)
    return ok(f"{len(wanted)} packages, all in allowed versions")


def _unmet(wanted: Requirement) -> str:
    try:
        version = metadata.version(wanted.name)
    except metadata.PackageNotFoundError:
        return f"{wanted.name} is not installed"
    if wanted.specifier.contains(version, prereleases=True):
        return ""
    return f"{wanted.name} is {version}, expected {wanted.specifier}"


def torch(_course: Course) -> Finding:
    """Tell the version of torch; whether it will do is looked at by `packages` and in the sandbox."""
    try:
        return ok(metadata.version("torch"))
    except metadata.PackageNotFoundError:
        return problem("torch is not installed", SET_UP)


def libseccomp(_course: Course) -> Finding:
    """Check whether the filter of system calls can be built."""
    try:
        filter_programs()
    except SandboxMissingError as missing:
        return _told(missing)
    return ok("the filter of system calls can be built")


def bubblewrap(_course: Course) -> Finding:
    """Check whether bubblewrap starts, and a run can be isolated in it."""
    try:
        require_sandbox()
    except SandboxMissingError as missing:
        return _told(missing)
    return ok(f"{find_bubblewrap()} starts, and a run in it can be isolated")


def excluded(_course: Course) -> Finding:
    """Start the process that runs submissions. It does not start if an excluded function still runs."""
    sandboxed = sandbox_problem() is None
    where = "in the sandbox" if sandboxed else "without a sandbox, for this check alone"
    try:
        with WarmProcess(sandboxed=sandboxed) as warm, warm.run() as run:
            raised = run.cell("import torch", CELL_SECONDS)
    except AutograderError as error:
        return problem(str(error.args[0]), "use the versions that requirements.txt pins: 'make setup'")
    if raised:
        return problem(f"a run cannot import torch: {raised['message']}", "run 'make setup' again")
    return ok(f"the process that runs submissions starts, {where}")


def _told(missing: SandboxMissingError) -> Finding:
    said, fix, *_ = str(missing).splitlines()
    return problem(said, fix)


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


def chromium(_course: Course) -> Finding:
    """Look for the browser that takes pictures of pages."""
    found = shutil.which("chromium")
    if found is None:
        return warning(
            "not installed; 'make pictures' and the tests of pages need it", "sudo apt-get install chromium"
        )
    return ok(found)


def fonts(_course: Course) -> Finding:
    """Check whether some font of the system has the signs of formulas."""
    program = shutil.which("fc-list")
    if program is None:
        return warning("fonts could not be checked: fontconfig is not installed", FONTS)
    lacking = []
    for sign in SIGNS:
        command = [program, f":charset={ord(sign):x}", "family"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - fontconfig's own
        if not done.stdout.strip():
            lacking.append(sign)
    if lacking:
        return warning(f"no font has {' '.join(lacking)}; pictures of pages need them", FONTS)
    return ok(f"there are fonts with {' '.join(SIGNS)}")


def word_vectors(_course: Course) -> Finding:
    """Check whether the small BERT of lessons 01, 04, 05 and 08 is there, and is the one that was pinned."""
    from coursework.pretrained import INSTALL, MODEL, WEIGHTS, find_model, verified

    folder = find_model()
    if folder is None:
        return warning(f"{MODEL} is not installed; lessons use a small model of their own", INSTALL)
    if not verified(folder / WEIGHTS):
        return warning(f"{folder / WEIGHTS} is not the pinned file", INSTALL)
    return ok(f"{MODEL}, {WEIGHTS} with the pinned SHA-256")


def language_model(_course: Course) -> Finding:
    """Check whether the language model that runs on a student's parts is there, and is the pinned one."""
    from coursework.smollm import INSTALL, MODEL, NotInstalledError, find_weights

    try:
        path = find_weights()
    except NotInstalledError as error:
        return warning(f"{error} Lessons show recorded texts instead", INSTALL)
    return ok(f"{MODEL}, {path.name} with the pinned SHA-256")


def shakespeare(_course: Course) -> Finding:
    """Check whether the corpus of lesson 07 is there, and is the one that was pinned."""
    from coursework.corpus import INSTALL, NoShakespeareError, shakespeare

    try:
        works = shakespeare()
    except NoShakespeareError as error:
        return warning(f"{error}; lesson 07 uses a synthetic play", INSTALL)
    return ok(f"{len(works)} works, with the pinned SHA-256")


def writable(course: Course) -> Finding:
    """Check whether the folders and files that grading writes can be written."""
    folders = [course.root, course.reports, course.feedback, course.autograded]
    files = [course.gradebook, course.key, course.results]
    for folder in filter(os.path.isdir, folders):
        try:
            tempfile.TemporaryFile(dir=folder).close()
        except OSError as error:
            return problem(
                f"{folder} cannot be written: {error.strerror}", f"give yourself write permission to {folder}"
            )
    for file in filter(os.path.exists, files):
        if not os.access(file, os.R_OK | os.W_OK):
            return problem(f"{file} cannot be read and written", f"give yourself permission to {file}")
    return ok(str(course.root))


def configuration(course: Course) -> Finding:
    """Check whether nbgrader's configuration can be read and used, and names the autograder."""
    path = course.root / CONFIG
    try:
        found = settings(course)
        require_settings(course)
        CourseExchange(course)
    except SettingsError as error:
        return problem(str(error), f"correct {CONFIG}")
    for command, plugin in PLUGINS.items():
        if found[command].get("exporter_class") != plugin:
            return problem(
                f"{path} does not plug the autograder into nbgrader's {command}",
                f'set c.{command}.exporter_class = "{plugin}", as the project\'s own {CONFIG} does',
            )
    return ok(str(path))


def gradebook(course: Course) -> Finding:
    """Check whether the gradebook can be opened."""
    place = gradebook_place(course)
    if in_a_file(course) and not course.gradebook.exists():
        return ok(f"{place} will be created when something is graded")
    try:
        with plain_io_errors(course), open_gradebook(course) as book:
            return ok(f"{place}, with {len(book.students)} students")
    except AutograderError as error:
        return problem(str(error), "restore the gradebook from a backup, or move it away")


def exchange(course: Course) -> Finding:
    """Check whether nbgrader's exchange is there."""
    inbound = CourseExchange(course).inbound
    if not inbound.is_dir():
        return warning(
            f"none at {inbound}",
            f"for 'autograder watch' or JupyterHub, set c.Exchange.root in {CONFIG} and release a lesson",
        )
    if not os.access(inbound, os.R_OK | os.X_OK):
        return warning(f"{inbound} cannot be read", "start 'autograder watch' as the course's owner")
    return ok(str(inbound))


# what the table calls a check, and the function that looks
NamedCheck = tuple[str, Callable[[Course], Finding]]
CHECKS: tuple[NamedCheck, ...] = (
    ("Python", python),
    ("packages", packages),
    ("torch", torch),
    ("libseccomp", libseccomp),
    ("bubblewrap", bubblewrap),
    ("excluded functions", excluded),
    ("course folder", writable),
    ("disk", disk),
    ("memory", memory),
    ("nbgrader's configuration", configuration),
    ("gradebook", gradebook),
    ("exchange", exchange),
    ("Chromium", chromium),
    ("fonts", fonts),
    ("pretrained model", word_vectors),
    ("language model", language_model),
    ("Shakespeare", shakespeare),
)


def examine(place: Course, checks: Iterable[NamedCheck] = CHECKS) -> Iterator[tuple[str, Finding]]:
    """Yield the name of each check and what it finds. One that raises counts as a problem.

    One that needs nbgrader's configuration says nothing of its own where that cannot be used.
    """
    for name, look in checks:
        try:
            yield name, look(place)
        except SettingsError:
            yield name, warning(f"not checked, because {CONFIG} has to be corrected first")
        except Exception as error:  # such as a package that cannot be imported
            said = f"could not be checked: {type(error).__name__}: {error}"
            yield name, problem(said, "run 'make setup', and report this if it persists")


def is_fit(found: Iterable[Finding]) -> bool:
    """Return whether nothing that grading needs is broken."""
    return all(each.status != Status.PROBLEM for each in found)
