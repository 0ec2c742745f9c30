"""The command `autograder watch`, on a real lesson: once, one at a time, and stopped from outside."""

import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from conftest import ROOT

from autograder.cli import main
from autograder.commands.services import _tell, _tell_json
from autograder.grading.loop import Recorded
from autograder.model.attempt import Attempt
from autograder.model.course import CONFIG, Course
from autograder.model.report import Report, State
from autograder.storage.locks import only_one
from autograder.watch.inbox import Arrival
from autograder.watch.watch import Done

LESSON = "03_attention"
SANDBOX = [] if shutil.which("bwrap") else ["--unsandboxed"]


@pytest.fixture
def real(tmp_path: Path) -> Course:
    """A course with the lessons of this repository, and an empty inbox beside it."""
    course = Course(tmp_path / "course")
    course.root.mkdir()
    for name in ("source", "release", "images"):
        (course.root / name).symlink_to(ROOT / name)
    shutil.copy(ROOT / CONFIG, course.root)
    (tmp_path / "inbox").mkdir()
    return course


def _watch(course: Course, *args: str | Path) -> Result:
    arguments = ["--course", course.root, "watch", *args, *SANDBOX]
    return CliRunner().invoke(main, list(map(str, arguments)))


@pytest.mark.sandbox
def test_what_is_there_is_graded_once(real: Course, tmp_path: Path, hand_in: Callable[..., Path]) -> None:
    """One JSON line for the submission; the second time there is nothing to do."""
    folder = tmp_path / "inbox" / "ada" / LESSON
    folder.mkdir(parents=True)
    shutil.copy(hand_in(LESSON, causal_mask=lambda a: a.replace(".tril()", ".triu()")), folder)
    before = signal.getsignal(signal.SIGTERM)
    done = _watch(real, tmp_path / "inbox", "--once", "--json")
    assert done.exit_code == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["student"], told["lesson"], told["state"]) == ("ada", LESSON, "graded")
    assert (told["score"], told["pending"], told["returned"]) == (18.25, 0, False)
    assert told["withdrawn"] == []
    assert real.feedback_page("ada", LESSON).is_file()
    assert signal.getsignal(signal.SIGTERM) == before
    assert _watch(real, tmp_path / "inbox", "--once", "--json").stdout == ""


def test_what_could_not_be_graded_is_told_with_the_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As in the summary of a class run."""
    report = Report(
        lesson=LESSON, score=0, max_score=20, exercises=[], state=State.UNREADABLE, reason="it is not valid JSON"
    )
    attempt = Attempt(
        student="ada", lesson=LESSON, sha256="", version="", graded_at=datetime.now(UTC), sandboxed=True, report=report
    )
    arrival = Arrival("ada", LESSON, tmp_path, "key", "order", from_exchange=False)
    _tell(Done(arrival, Recorded(attempt, [], report, 0.0), 1.0))
    assert capsys.readouterr().out == f"{arrival}: unreadable, it is not valid JSON (1 s)\n"


def test_a_file_that_came_again_unchanged_gets_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Also as JSON: its page was released for it."""
    arrival = Arrival("ada", LESSON, tmp_path, "key", "order", from_exchange=True)
    done = Done(arrival, None, 1.0, returned=True)
    _tell(done)
    _tell_json(done)
    line, document = capsys.readouterr().out.splitlines()
    assert line == f"{arrival}: unchanged (1 s, feedback released)"
    assert json.loads(document) == {
        "student": "ada", "lesson": LESSON, "state": "unchanged", "seconds": 1.0, "returned": True
    }  # fmt: skip


def test_a_second_watch_is_refused_in_one_line(real: Course, tmp_path: Path) -> None:
    """With exit status 2."""
    with only_one(real, "watch"):
        done = _watch(real, tmp_path / "inbox", "--once")
    assert done.exit_code == 2
    assert done.stderr.startswith("autograder: another 'autograder watch' is at work on")
    assert done.stderr.count("\n") == 1


def test_a_course_without_an_exchange_is_told_what_to_do(real: Course, tmp_path: Path) -> None:
    """No folder was named, and nbgrader_config.py names none that is there."""
    with (real.root / CONFIG).open("a") as config:
        config.write(f"\nc.Exchange.root = '{tmp_path / 'none'}'\n")
    done = _watch(real)
    assert done.exit_code == 2
    assert "set c.Exchange.root" in done.stderr


@pytest.mark.parametrize("once", [[], ["--once"]])
def test_a_folder_that_is_not_there_is_told_in_one_line(real: Course, tmp_path: Path, once: list[str]) -> None:
    """With exit status 2: a mistyped name would be watched for ever."""
    done = _watch(real, tmp_path / "none", *once)
    assert (done.exit_code, done.stderr) == (2, f"autograder: no such folder to watch: {tmp_path / 'none'}\n")


def test_a_service_manager_can_stop_it(real: Course, tmp_path: Path) -> None:
    """SIGTERM ends it in order: exit status 0, and the lock is free."""
    command = [sys.executable, "-m", "autograder", "--course", str(real.root), "watch", str(tmp_path / "inbox")]
    with subprocess.Popen([*command, *SANDBOX], stderr=subprocess.PIPE, text=True) as run:
        assert run.stderr is not None
        assert run.stderr.readline().startswith("watching ")
        run.send_signal(signal.SIGTERM)
        assert run.wait(timeout=60) == 0
    with only_one(real, "watch"):
        assert real.reports.is_dir()
