"""Time limits count the student's own processor time: a busy machine changes nothing."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from autograder.grading import runner, session
from autograder.grading.grader import Grader
from autograder.model.report import Outcome

HandIn = Callable[..., Path]
LESSON = "03_attention"
SPIN = "while True: pass"


@pytest.fixture
def busy() -> Iterator[None]:
    """Sixteen other processes that want the processor all the time."""
    spinning = [subprocess.Popen([sys.executable, "-c", SPIN]) for _ in range(16)]
    yield
    for process in spinning:
        process.kill()
        process.wait()


@pytest.mark.full("sixteen processes that spin", seconds=60)
def test_a_busy_machine_changes_no_score(
    grader: Grader, hand_in: HandIn, request: pytest.FixtureRequest
) -> None:
    """The same report, message for message; the answers take a second of processor time each."""
    slow = "\nfor _ in range(9_000_000):\n    pass\n"
    path = hand_in(
        LESSON,
        softmax=lambda answer: answer.replace("x.amax", "1.5 * x.amax") + slow,
        padding_mask=lambda answer: slow + answer,
        attention_scores="def attention_scores(q, k):\n    return q @ k.transpose(-2, -1)\n" + slow,
    )
    idle = grader.grade(LESSON, path).report
    request.getfixturevalue("busy")
    assert grader.grade(LESSON, path).report == idle


@pytest.mark.full("waits as long as the real limits", seconds=20)
def test_waiting_is_told_from_computing(
    grader: Grader, hand_in: HandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A loop has used up its processor time; a sleep is stopped by the clock, and told so."""
    monkeypatch.setattr(session, "ANSWER_SECONDS", 1.0)
    monkeypatch.setattr(runner, "PROBE_SECONDS", 1.0)
    path = hand_in(
        LESSON,
        causal_mask=lambda answer: "import time\ntime.sleep(60)\n" + answer,
        padding_mask=lambda answer: "while True: pass\n" + answer,
    )
    report = grader.grade(LESSON, path).report
    waits, computes = (report.exercise(name) for name in ("causal-mask", "padding-mask"))
    assert waits.outcome is computes.outcome is Outcome.TIMEOUT
    assert "wait for something" in waits.failures[0].message
    assert "processor time" in computes.failures[0].message
    assert "loop that never ends" in computes.failures[0].message
