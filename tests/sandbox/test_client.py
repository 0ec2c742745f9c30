"""The sandbox isolates student code, and a run that dies or hangs is noticed and replaced."""

import contextlib
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from autograder.model.errors import (
    MachineError,
    RunCrashedError,
    RunEndedError,
    RunTimedOutError,
    SandboxMissingError,
)
from autograder.probe import wire
from autograder.sandbox import bubblewrap
from autograder.sandbox.client import WarmProcess
from autograder.sandbox.run import Run

pytestmark = pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")


def told(run: Run, expression: str) -> str:
    """Return the value of an expression inside, by way of an exception's message."""
    raised = run.cell(f"raise ValueError(repr({expression}))", 5)
    assert raised is not None
    return str(raised["message"])


def test_the_course_is_not_there(run: Run) -> None:
    """The course folder cannot be seen, and of the autograder only the probe and lessons' fixtures."""
    root = Path(bubblewrap.PACKAGES.parent)
    for name in ("source", "solutions", "tests", "autograder/lessons", "gradebook.db"):
        assert told(run, f"__import__('os').path.exists({str(root / name)!r})") == "False"
    files = "{path.name for path in __import__('pathlib').Path('/sandbox/autograder/lessons').rglob('*.*')}"
    assert told(run, files) in ("{'fixtures.py'}", "set()")
    there = "sorted({*__import__('os').listdir('/sandbox/autograder')} - {'lessons'})"
    assert told(run, there) == "['probe']"


def test_modules_can_be_added(warm: WarmProcess) -> None:
    """Runs from then on find them imported; one that does not exist is left to the lesson that wants it."""
    loaded = "'tabnanny' in __import__('sys').modules"
    with warm.run() as before:
        assert told(before, loaded) == "False"
    warm.add(["tabnanny", "no_such_module"])
    with warm.run() as after:
        assert told(after, loaded) == "True"


def test_the_fixtures_of_lessons_can_be_imported(run: Run) -> None:
    """They import nothing that is not visible inside."""
    for path in bubblewrap.PACKAGES.glob("lessons/*/fixtures.py"):
        cell = f"import autograder.lessons.{path.parent.name}.fixtures"
        assert run.cell(cell, 20, "08_attention_visualisation") is None  # which hands out every stand-in


def test_the_environment_is_not_the_instructors(
    monkeypatch: pytest.MonkeyPatch, warm: WarmProcess
) -> None:
    """No environment variable of the caller is passed on."""
    monkeypatch.setenv("SECRET_TOKEN", "1")
    with WarmProcess() as fresh, fresh.run() as run:
        assert told(run, "'SECRET_TOKEN' in __import__('os').environ") == "False"


def test_only_a_fresh_temporary_folder_can_be_written(warm: WarmProcess) -> None:
    """Each run has a /tmp of its own, which the next run does not see."""
    with warm.run() as first:
        assert first.cell("open('/tmp/left', 'w').write('x')", 5) is None
        for folder in ("/usr", "/sandbox", "/etc"):
            raised = first.cell(f"open('{folder}/left', 'w')", 5)
            assert raised is not None
    with warm.run() as second:
        assert told(second, "__import__('os').listdir('/tmp')") == "[]"


def test_no_other_process_can_be_seen_or_signalled(run: Run) -> None:
    """/proc is empty, and signals reach no other process."""
    assert told(run, "__import__('os').listdir('/proc')") == "[]"
    assert run.cell("import os, signal\nfor n in range(3, 99):\n    os.kill(n, signal.SIGKILL)", 5)


def test_there_is_no_network(run: Run) -> None:
    """Opening a connection fails at once."""
    raised = run.cell("import socket; socket.create_connection(('1.1.1.1', 53), 2)", 5)
    assert raised is not None
    assert "Network is unreachable" in raised["message"]


def test_no_namespace_or_mount_can_be_made(run: Run) -> None:
    """Capabilities are gone: nothing can be mounted again."""
    code = (
        "import ctypes; raise ValueError(ctypes.CDLL(None).mount(b'x', b'/tmp', b'tmpfs', 0, None))"
    )
    raised = run.cell(code, 5)
    assert raised is not None
    assert raised["message"] == "-1"


def test_memory_is_limited(run: Run) -> None:
    """A cell that asks for more than its share gets a MemoryError."""
    raised = run.cell("x = bytearray(16 * 2**30)", 10)
    assert raised is not None
    assert raised["type"] == "MemoryError"


def test_a_loop_without_end_is_stopped(run: Run) -> None:
    """The alarm ends a cell, even one that never returns to the interpreter."""
    started = time.monotonic()
    with pytest.raises(RunTimedOutError):
        run.cell("while True: pass", 1)
    assert time.monotonic() - started < 6


def test_a_cell_that_switches_the_alarm_off_is_stopped_too(run: Run) -> None:
    """The grader's own clock does not depend on the run."""
    with pytest.raises(RunTimedOutError):
        run.cell("import signal\nsignal.setitimer(signal.ITIMER_REAL, 0)\nwhile True: pass", 1)


def test_noise_on_the_channel_ends_the_run_only(warm: WarmProcess) -> None:
    """A cell that writes to every descriptor it finds ends its run. The next run works."""
    noise = "import os\nfor fd in range(3, 64):\n    try: os.write(fd, b'x' * 100)\n    except OSError: pass"
    with warm.run() as run:
        with contextlib.suppress(RunEndedError):
            run.cell(noise, 5)
        with pytest.raises(RunEndedError):
            run.cell("1", 5)
    with warm.run() as run:
        assert told(run, "1 + 1") == "2"


FORGE = """
import gc, torch
session = next(o for o in gc.get_objects() if type(o).__name__ == 'Session')
from autograder.probe import wire
wire.send(session.channel, {frame})
"""


@pytest.mark.parametrize(
    "frame",
    [
        *(
            f"{{'session': 'ended', 'code': {code}, 'noted': []}}"
            for code in ("torch.ones(2)", "torch.tensor([1, 2])", "'x' * 1000", "[1]", "None", "2**40", "True")
        ),
        "{'session': 'ended', 'code': 0}",
        "{'session': 'ended', 'code': 0, 'noted': torch.ones(3)}",
        "{'session': 'ended', 'code': 0, 'noted': [], 'more': 1}",
        "{'session': 'over', 'noted': []}",
        "{'cell': 'done', 'raised': torch.ones(2), 'noted': []}",
        "{'cell': 'done', 'raised': None, 'noted': [('a', 'b', 'c')]}",
        "{'cell': 'done', 'raised': None, 'noted': [('a', 'b' * 5000)]}",
        "{'cell': 'done', 'raised': None, 'noted': [], 'seconds': -1.0}",
        "{'cell': 'done', 'raised': None, 'noted': [], 'seconds': float('nan')}",
        "{'cell': 'done', 'raised': {'type': 1}, 'noted': []}",
        "{'cell': torch.ones(2), 'raised': None, 'noted': []}",
        "{torch.ones(1): 1}",
        "torch.ones(2)",
        "[]",
        "None",
    ],
)
def test_a_forged_frame_is_noise(run: Run, frame: str) -> None:
    """A cell that answers in the session's place may send anything: it costs that cell alone."""
    with pytest.raises(RunCrashedError):
        run.cell(FORGE.format(frame=frame), 5)
    assert "noise" in {kind for kind, _ in run.take_notes()}
    assert not run.alive


def test_nothing_is_left_running(warm: WarmProcess) -> None:
    """A process left behind ends with its run."""
    with warm.run() as run:
        run.cell("import subprocess; subprocess.Popen(['sleep', '321'])", 5)
    time.sleep(0.5)
    mine = [p for p in Path("/proc").glob("[0-9]*/cmdline") if b"sleep\x00321" in _read(p)]
    assert mine == []


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def test_a_missing_sandbox_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without bubblewrap, the error says how to install it."""
    monkeypatch.setenv("PATH", "")
    with pytest.raises(SandboxMissingError, match="apt-get install bubblewrap"):
        WarmProcess()


def test_a_torch_that_runs_what_is_excluded_stops_grading(monkeypatch: pytest.MonkeyPatch) -> None:
    """The warm process says so when it is ready; the error names the function, and nothing is left running."""
    received = wire.receive

    def moved(*args: Any) -> Any:
        return {**received(*args), "not_refused": ["F.layer_norm"]}

    monkeypatch.setattr("autograder.sandbox.client.wire.receive", moved)
    with pytest.raises(MachineError, match=r"still runs what exercises exclude: F\.layer_norm"):
        WarmProcess()


def test_only_the_stand_ins_that_a_lesson_hands_out_are_there(warm: WarmProcess) -> None:
    """The others cannot be imported, and the text of none can be read."""
    text = "open(__import__('coursework.stand_ins').stand_ins.__file__).read()"
    with warm.run() as third:
        assert third.cell("from coursework.stand_ins import causal_mask", 5, "03_attention") is not None
        assert told(third, text) == "''"
    with warm.run() as fifth:
        assert fifth.cell("from coursework.stand_ins import MultiHeadAttention", 5, "05_encoder") is None
        for name in ("FeedForward", "LayerNorm"):
            assert fifth.cell(f"from coursework.stand_ins import {name}", 5, "05_encoder") is not None
        assert fifth.cell("from coursework import small_bert\nsmall_bert.FeedForward", 5, "05_encoder") is not None
    with warm.run() as eighth:
        cell = "from coursework.stand_ins_models import Transformer\nTransformer(9, 9, 4, 2, 1, 6, 8)"
        assert eighth.cell(cell, 5, "08_attention_visualisation") is None
