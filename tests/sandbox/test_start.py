"""The warm process starts before torch is imported here, and ends with whoever started it."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from autograder.grading import grader as grader_module
from autograder.grading.grader import Grader
from autograder.grading.pool import make_grader
from autograder.model.course import Course
from autograder.model.errors import SandboxMissingError
from autograder.sandbox import start as start_module
from autograder.sandbox.client import WarmProcess
from autograder.sandbox.start import Started, start

SANDBOXED = shutil.which("bwrap") is not None


@pytest.mark.parametrize(
    ("loaded", "absent"),
    [
        ("autograder.cli, autograder.grading.pool, autograder.sandbox.start", "torch"),
        ("autograder.grading.loop, autograder.reports.publish", "torch"),
        ("autograder.grading.pool", "nbgrader"),
        ("autograder.grading.pool", "sqlalchemy"),
        ("autograder.cli, autograder.grading.grader, autograder.reports.terminal", "nbgrader"),
        ("autograder.cli, autograder.grading.grader, autograder.reports.terminal", "sqlalchemy"),
    ],
)
def test_nothing_is_imported_that_only_later_steps_need(loaded: str, absent: str) -> None:
    """The sandbox starts before torch is imported here; what records and reports does without torch, a worker without the gradebook."""
    program = f"import sys, {loaded}; print({absent!r} in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_a_process_that_nobody_needed_ends() -> None:
    """Closing the grader ends it, although it was never asked for a run."""
    started = start(sandboxed=SANDBOXED)
    with Grader(Course(Path.cwd()), sandboxed=SANDBOXED, started=started):
        assert started.process.poll() is None
    assert started.process.poll() is not None


def test_a_started_process_is_used() -> None:
    """It imports the modules that it is told, and runs cells."""
    started = start(sandboxed=SANDBOXED)
    with WarmProcess(["math"], sandboxed=SANDBOXED, started=started) as warm, warm.run() as run:
        assert run.cell("assert 1 + 1 == 2", 10) is None
    assert started.process.poll() is not None


def test_a_grader_that_cannot_be_made_leaves_no_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process that was started for it ends too."""
    made: list[Started] = []

    def remember(*, sandboxed: bool) -> Started:
        made.append(start_module.start(sandboxed=sandboxed))
        return made[-1]

    def missing() -> Path:
        raise SandboxMissingError("no sandbox")

    monkeypatch.setattr("autograder.grading.pool.start", remember)
    monkeypatch.setattr(grader_module, "require_sandbox", missing)
    with pytest.raises(SandboxMissingError, match="no sandbox"):
        make_grader(Course(tmp_path), SANDBOXED)
    assert [each.process.poll() is None for each in made] == [False]
