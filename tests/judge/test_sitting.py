"""Whatever a cell does, it costs its own exercise and no other."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from autograder.judge import sitting
from autograder.judge.exercise import Lesson
from autograder.marker import Marker, workbench
from autograder.results import Outcome, Report

HandIn = Callable[..., Path]
LESSON = "03_attention"
HOG = "hoard = [bytearray(2**28) for _ in range(100)]\ndef causal_mask(size):\n    return None"
FORGETFUL = """
calls = []


def causal_mask(size):
    calls.append(size)
    right = torch.ones(size, size, dtype=torch.bool).tril()
    return right if len(calls) <= 3 else ~right
"""


def marker_bench(marker: Marker) -> Lesson:
    """Return the checks that the marker judges with."""
    return workbench(marker.course, LESSON).lesson


def others_are_full(report: Report, but: str) -> bool:
    """Whether every other exercise has all its points."""
    return all(ex.score == ex.points for ex in report.exercises if ex.id != but)


@pytest.mark.parametrize(
    ("cell", "outcome", "said"),
    [
        ("def softmax(x, dim=-1):\n    return x.nope()", Outcome.ERROR, "no attribute 'nope'"),
        ("def softmax(x, dim=-1)\n    return x", Outcome.ERROR, "SyntaxError"),
        ("def soft_max(x, dim=-1):\n    return x", Outcome.FAILED, "There is no `softmax`"),
        ("def softmax(x, dim=-1):\n    pass", Outcome.FAILED, "is None"),
        ("def softmax(x, dim=-1):\n    return x.tolist()", Outcome.FAILED, "of type list"),
        (
            "def softmax(x, dim=-1):\n    return x.double().exp() * float('nan')",
            Outcome.FAILED,
            "float64",
        ),
        ("def softmax(x, dim=-1):\n    return x * float('nan')", Outcome.FAILED, "NaN"),
        ("def softmax(x, dim=-1):\n    return x.sum(dim)", Outcome.FAILED, "has shape"),
        (
            "def softmax(x, dim=-1):\n    import os; os._exit(0)",
            Outcome.CRASHED,
            "ended its whole process",
        ),
        ("import os; os._exit(0)", Outcome.CRASHED, "ended its whole process"),
        ("exit()\nquit()\nimport sys; sys.exit()", Outcome.ERROR, "SystemExit"),
    ],
)
def test_a_broken_cell_costs_its_own_exercise(
    cell: str, outcome: Outcome, said: str, marker: Marker, hand_in: HandIn
) -> None:
    """The outcome is right, the reason is said in words, and the other six keep their marks."""
    report = marker.mark(LESSON, hand_in(LESSON, softmax=cell)).report
    told = report.exercise("softmax")
    assert told.outcome is outcome
    assert any(said in check.message for check in told.checks), told.checks
    assert others_are_full(report, "softmax")


@pytest.mark.slow
def test_a_loop_without_end_is_a_timeout(marker: Marker, hand_in: HandIn) -> None:
    """An answer that never returns is stopped, and costs its own exercise only."""
    report = marker.mark(
        LESSON, hand_in(LESSON, causal_mask="def causal_mask(size):\n    while True: pass")
    ).report
    assert report.exercise("causal-mask").outcome is Outcome.TIMEOUT
    assert others_are_full(report, "causal-mask")


def test_a_mistake_upstream_costs_once(marker: Marker, hand_in: HandIn) -> None:
    """With a wrong softmax, attention is marked with a right one in its place."""
    report = marker.mark(
        LESSON, hand_in(LESSON, softmax="def softmax(x, dim=-1):\n    return x")
    ).report
    assert report.exercise("softmax").score == 0
    assert others_are_full(report, "softmax")


def test_the_model_answer_with_an_own_helper_above(marker: Marker, hand_in: HandIn) -> None:
    """A helper in the upstream answer's cell still works when that answer is replaced."""
    softmax = "def helper(t):\n    return t\ndef softmax(x, dim=-1):\n    return x"
    report = marker.mark(
        LESSON,
        hand_in(
            LESSON,
            softmax=softmax,
            attention_scores=lambda answer: answer.replace("return q", "return helper(q)"),
        ),
    ).report
    assert report.exercise("attention-scores").score == 3


def test_a_report_is_the_same_for_the_same_seed(marker: Marker, hand_in: HandIn) -> None:
    """A mark can be reproduced, message for message, from the seed that was kept with it."""
    path = hand_in(LESSON, softmax="def softmax(x, dim=-1):\n    return x")
    assert marker.mark(LESSON, path).report == marker.mark(LESSON, path).report


@pytest.mark.slow
def test_a_notebook_that_takes_for_ever_ends_in_time(
    marker: Marker, hand_in: HandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When the whole has had its time, what is left is a timeout; what was marked keeps its marks."""
    monkeypatch.setattr(sitting, "TOTAL_SECONDS", 4.0)
    slow = "import time; time.sleep(3)\n"
    path = hand_in(
        LESSON,
        causal_mask=lambda answer: slow + answer,
        padding_mask=lambda answer: slow + answer,
    )
    report = marker.mark(LESSON, path).report
    assert report.exercise("softmax").outcome is Outcome.PASSED
    assert report.exercise("self-attention-head").outcome is Outcome.TIMEOUT


def test_names_taken_over_upstream_do_not_reach_the_stand_ins(
    marker: Marker, hand_in: HandIn
) -> None:
    """A cell that reuses `F` and `math` for something else costs itself only."""
    cell = "def softmax(x, dim=-1):\n    return x\nF, math_ = 96485, math"
    report = marker.mark(LESSON, hand_in(LESSON, softmax=cell)).report
    assert others_are_full(report, "softmax")


def test_a_fault_of_ours_leaves_its_exercise_to_a_person(
    marker: Marker, hand_in: HandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A judge that breaks costs no mark silently, and no other exercise anything."""

    def broken(*_: object) -> None:
        raise ZeroDivisionError("ours")

    exercise = marker_bench(marker)["causal-mask"]
    monkeypatch.setattr(exercise, "cases", [replace(c, judge=broken) for c in exercise.cases])
    report = marker.mark(LESSON, hand_in(LESSON)).report
    told = report.exercise("causal-mask")
    assert (told.outcome, told.score) == (Outcome.GRADER_FAULT, None)
    assert "not your fault" in told.checks[0].message
    assert others_are_full(report, "causal-mask")


def test_a_memory_hog_costs_its_own_exercise(marker: Marker, hand_in: HandIn) -> None:
    """What it held is given back: the notebook is run again without its cell."""
    report = marker.mark(LESSON, hand_in(LESSON, causal_mask=HOG)).report
    assert report.exercise("causal-mask").outcome is Outcome.CRASHED
    assert others_are_full(report, "causal-mask")


def test_what_passes_once_has_to_pass_again(marker: Marker, hand_in: HandIn) -> None:
    """An answer that is right for its first calls only loses the checks, and is told of."""
    report = marker.mark(LESSON, hand_in(LESSON, causal_mask=FORGETFUL)).report
    told = report.exercise("causal-mask")
    assert told.score is not None
    assert told.score < told.points
    assert "held once" in told.failures[0].message
    assert "changing-answer" in {incident.kind for incident in report.incidents}
    assert others_are_full(report, "causal-mask")
