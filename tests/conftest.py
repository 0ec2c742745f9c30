"""Fixtures shared by all tests: the real course, one warm grader, solved notebooks. And the two runs of the tests.

`make test` leaves out every test marked `full`, and `make test-all` runs them all. The mark says why a test
is not in the short run, and about how many seconds it takes on an idle core:

    @pytest.mark.full("50 kills: each starts a run", seconds=120)

Marked tests run last, the cheapest first. With `--budget SECONDS`, none is started that would not end in time.
"""

import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import autograder.lessons  # first, because it keeps nbformat from importing a parser that takes a second

# isort: split

import nbformat
import pytest
import torch
from keys import KEY

from autograder.grading.grader import Grader
from autograder.judge.kept_results import ResultsFile
from autograder.model.course import Course
from autograder.model.lesson_text import read_lesson
from autograder.sandbox import run as sandbox_run
from autograder.sandbox.client import WarmProcess
from autograder.sandbox.run import Process, Run

ROOT = Path(__file__).resolve().parent.parent
REAL_COURSE = Course(ROOT)
torch.set_num_threads(1)  # as the grader does: on small tensors a second thread only slows things down
Edit = Callable[[str], str]
autograder.lessons.__path__.append(str(ROOT / "tests/checks_for_tests"))
USUAL_SECONDS = 5  # of a test that is marked `full` without a number
DEADLINE = "AUTOGRADER_TESTS_END_BY"  # the time at which a budget ends; an environment variable reaches the workers
LEFT_OUT = "not started: the budget of time is used"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that limits the time of a run."""
    parser.addoption("--budget", type=float, metavar="SECONDS", help="start no full test that would end later")


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Take a process for each core, and in `make test` one more: two fifths of its time, a test waits."""
    return len(os.sched_getaffinity(0)) + (config.option.markexpr == "not full")


def pytest_configure(config: pytest.Config) -> None:
    """Turn a budget into a time of day, once for all workers."""
    budget = config.getoption("--budget")
    if budget is not None:
        os.environ.setdefault(DEADLINE, str(time.time() + budget))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests of the full run last, the cheapest first."""
    items.sort(key=_seconds)


def _seconds(item: pytest.Item) -> float:
    """Return how long a test of the full run takes, 0 for others. Raises UsageError for a mark without a reason."""
    mark = item.get_closest_marker("full")
    if mark is None:
        return 0
    if len(mark.args) != 1 or not isinstance(mark.args[0], str) or not mark.args[0].strip():
        raise pytest.UsageError(f"{item.nodeid}: `full` needs a reason, such as full('50 kills')")
    return float(mark.kwargs.get("seconds", USUAL_SECONDS))


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Leave out what the machine cannot run, and what would end after the budget."""
    if item.get_closest_marker("sandbox") and shutil.which("bwrap") is None:
        pytest.skip("bubblewrap is not installed")
    seconds = _seconds(item)
    if seconds and time.time() + seconds > float(os.environ.get(DEADLINE, "inf")):
        pytest.skip(LEFT_OUT)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Name the tests that a budget left out."""
    skipped = terminalreporter.getreports("skipped")
    names = sorted({report.nodeid for report in skipped if LEFT_OUT in str(report.longrepr)})
    if names:
        terminalreporter.section(f"{len(names)} tests were {LEFT_OUT}")
        terminalreporter.write_line("\n".join(names))


@pytest.fixture(scope="session")
def course() -> Course:
    """The course of this repository."""
    return REAL_COURSE


@pytest.fixture(scope="session", autouse=True)
def fixed_key(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The same inputs in every run of the tests, and nothing kept from an earlier run of them.

    Whatever key and results the course of this repository has are left alone.
    """
    file = tmp_path_factory.mktemp("kept") / "course.results"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("autograder.grading.grader.lesson_key", lambda _course, _lesson: KEY)
        patch.setattr(
            "autograder.grading.grader.ResultsFile", lambda _path, *rest: ResultsFile(file, *rest)
        )
        yield


@pytest.fixture(scope="session")
def grader(fixed_key: None) -> Iterator[Grader]:
    """One warm grader of the real course for all tests, sandboxed if bubblewrap is installed."""
    with Grader(REAL_COURSE, sandboxed=shutil.which("bwrap") is not None) as warm:
        yield warm


@pytest.fixture(scope="module")
def warm() -> Iterator[WarmProcess]:
    """One sandboxed warm process."""
    with WarmProcess() as process:
        yield process


@pytest.fixture
def run(warm: WarmProcess) -> Iterator[Run]:
    """A fresh run in it."""
    with warm.run() as fresh:
        yield fresh


@pytest.fixture
def drawing() -> Iterator[None]:
    """Draw to memory in the lessons' style, and leave nothing open."""
    import matplotlib as mpl
    from matplotlib import pyplot as plt

    from coursework import plots

    with mpl.rc_context():
        plt.switch_backend("agg")
        plots.use_style()
        yield
    plt.close("all")


@pytest.fixture
def short_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give cells and questions a second of processor time, as it is seen from outside their process."""
    monkeypatch.setattr(sandbox_run, "GRACE_SECONDS", 0.5)
    monkeypatch.setattr(sandbox_run, "FRAME_SECONDS", 2.0)
    monkeypatch.setattr(sandbox_run, "LOOK_SECONDS", 0.2)
    receive = Process.receive

    def soon(process: Process, seconds: float, *expected: Any) -> Any:
        return receive(process, min(seconds, 1.0), *expected)

    monkeypatch.setattr(Process, "receive", soon)


def solve(course: Course, lesson: str, edits: Mapping[str, Edit] | None = None) -> Any:
    """Return the released notebook with the model answers in it, some of them edited."""
    text = read_lesson(course.text(lesson))
    notebook = nbformat.read(course.release_notebook(lesson), as_version=4)
    for cell in notebook.cells:
        about = cell.metadata.get("nbgrader", {})
        if about.get("solution"):
            answer = text.answer(about["grade_id"])
            cell.source = (edits or {}).get(about["grade_id"], lambda source: source)(answer)
    return notebook


@pytest.fixture
def hand_in(tmp_path: Path) -> Callable[..., Path]:
    """Give a function that writes a solved notebook of the real course, with edits, and returns its path."""

    def write(lesson: str, **edits: Edit | str) -> Path:
        """Edits by exercise id, underscores for hyphens: a function of the answer, or a whole cell."""
        changes: dict[str, Edit] = {}
        for name, edit in edits.items():
            changes[name.replace("_", "-")] = (
                edit if callable(edit) else (lambda _, text=edit: text)
            )
        path = tmp_path / f"{lesson}.ipynb"
        nbformat.write(solve(REAL_COURSE, lesson, changes), path)
        return path

    return write
