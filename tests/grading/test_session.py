"""A cell costs its own exercise at most, whatever it does."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT
from keys import KEY
from mutants import answer_with, evidence

from autograder.grading import chance, outcomes, pool, runner, session
from autograder.grading.grader import Grader
from autograder.judge.oracle import Oracle
from autograder.lessons.loading import load_lesson
from autograder.model.course import Course
from autograder.model.exercise import Check, Exercise, Verdict
from autograder.model.report import GRADER_ERROR, CheckReport, Outcome, Report
from autograder.sandbox.run import Probe, Run
from coursework.engine.describe import Comparison

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


def others_are_full(report: Report, but: str) -> bool:
    """Return whether every other exercise has all its points."""
    return all(ex.score == ex.points for ex in report.exercises if ex.id != but)


@pytest.mark.parametrize(
    ("cell", "outcome", "said"),
    [
        ("def softmax(x, dim=-1):\n    return x.nope()", Outcome.ERROR, "A tensor has no `nope`"),
        ("def softmax(x, dim=-1)\n    return x", Outcome.ERROR, "SyntaxError"),
        ("def soft_max(x, dim=-1):\n    return x", Outcome.FAILED, "There is no `softmax`"),
        ("def softmax(x, dim=-1):\n    pass", Outcome.FAILED, "is None"),
        ("def softmax(x, dim=-1):\n    return x.tolist()", Outcome.FAILED, "is a list"),
        (
            "def softmax(x, dim=-1):\n    return x.double().exp() * float('nan')",
            Outcome.FAILED,
            "float64",
        ),
        ("def softmax(x, dim=-1):\n    return x * float('nan')", Outcome.FAILED, "NaN"),
        ("def softmax(x, dim=-1):\n    return x.sum(dim)", Outcome.FAILED, "one dimension too few"),
        (
            "def softmax(x, dim=-1):\n    import os; os._exit(0)",
            Outcome.CRASHED,
            "ended the whole Python process",
        ),
        ("import os; os._exit(0)", Outcome.CRASHED, "ended the whole Python process"),
        ("exit()\nquit()\nimport sys; sys.exit()", Outcome.ERROR, "SystemExit"),
    ],
)
def test_a_broken_cell_costs_its_own_exercise(
    cell: str, outcome: Outcome, said: str, grader: Grader, hand_in: HandIn
) -> None:
    """The outcome is right, the message gives the reason, and the other six keep their scores."""
    report = grader.grade(LESSON, hand_in(LESSON, softmax=cell)).report
    told = report.exercise("softmax")
    assert told.outcome is outcome
    assert any(said in check.message for check in told.checks), told.checks
    assert others_are_full(report, "softmax")


@pytest.mark.full("waits for the real limit", seconds=15)
def test_a_loop_without_end_is_a_timeout(grader: Grader, hand_in: HandIn) -> None:
    """An answer that never returns is stopped, and costs its own exercise only."""
    report = grader.grade(
        LESSON, hand_in(LESSON, causal_mask="def causal_mask(size):\n    while True: pass")
    ).report
    assert report.exercise("causal-mask").outcome is Outcome.TIMEOUT
    assert others_are_full(report, "causal-mask")


def test_after_some_time_outs_the_limits_are_shorter(
    grader: Grader, hand_in: HandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Endless loops in several cells don't use up the time of the exercises that follow."""
    limits: list[float] = []
    cell = Run.cell

    def counted(run: Run, source: str, seconds: float, lesson: str = "") -> dict[str, Any] | None:
        limits.append(seconds) if "while True" in source else None
        return cell(run, source, seconds, lesson)

    monkeypatch.setattr(session, "ANSWER_SECONDS", 1.0)
    monkeypatch.setattr(runner, "PROBE_SECONDS", 1.0)
    monkeypatch.setattr(Run, "cell", counted)
    loops = dict.fromkeys(("softmax", "attention_scores", "causal_mask"), "while True: pass")
    report = grader.grade(LESSON, hand_in(LESSON, **loops)).report
    assert limits == [1.0, 1.0, session.SHORTER]
    left = {each.id for each in report.exercises if each.score == each.points}
    assert {"padding-mask", "scaled-dot-product-attention", "self-attention-head"} <= left


def test_a_shorter_limit_holds_for_questions_too(
    grader: Grader, hand_in: HandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer that never returns is told the limit that it had; the others keep their points."""
    monkeypatch.setattr(session, "MANY_TIME_OUTS", 0)
    monkeypatch.setattr(session, "SHORTER", 0.05)
    path = hand_in(LESSON, causal_mask="def causal_mask(size):\n    while True: pass")
    report = grader.grade(LESSON, path).report
    assert "within 0.5 seconds" in report.exercise("causal-mask").failures[0].message
    assert others_are_full(report, "causal-mask")


def test_an_exercise_is_graded_as_it_is_at_its_test_cell(
    grader: Grader, hand_in: HandIn
) -> None:
    """A name that another exercise's cell defines anew, further down, neither earns nor costs points."""
    wrong, right = "def causal_mask(size):\n    return None", "torch.ones(n, n, dtype=bool).tril()"
    spoiled = lambda answer: f"{answer}\nsoftmax = attention_scores = None\n"  # noqa: E731
    mended = lambda answer: f"{answer}\ncausal_mask = lambda n: {right}\n"  # noqa: E731
    path = hand_in(LESSON, causal_mask=wrong, padding_mask=lambda a: mended(spoiled(a)))
    report = grader.grade(LESSON, path).report
    assert report.exercise("causal-mask").score == 0
    assert all(report.exercise(each).score for each in ("softmax", "attention-scores"))


def test_exercises_that_exclude_the_same_share_a_fork(
    grader: Grader, hand_in: HandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A notebook of right answers takes a fork for each set of excluded functions, and no more."""
    forks: list[tuple[str, ...]] = []
    fork = Run.probe

    def counted(run: Run, *args: Any, **about: Any) -> Probe:
        forks.append(tuple(about["excluded"]))
        return fork(run, *args, **about)

    monkeypatch.setattr(Run, "probe", counted)
    grader.grade(LESSON, hand_in(LESSON))
    assert len(forks) == len({*forks}) == 4


def test_a_mistake_upstream_costs_once(grader: Grader, hand_in: HandIn) -> None:
    """With a wrong softmax, attention is graded with a right one in its place."""
    report = grader.grade(
        LESSON, hand_in(LESSON, softmax="def softmax(x, dim=-1):\n    return x")
    ).report
    assert report.exercise("softmax").score == 0
    assert others_are_full(report, "softmax")


def test_the_model_answer_with_an_own_helper_above(grader: Grader, hand_in: HandIn) -> None:
    """A helper in the upstream answer's cell still works when that answer is replaced."""
    softmax = "def helper(t):\n    return t\ndef softmax(x, dim=-1):\n    return x"
    report = grader.grade(
        LESSON,
        hand_in(
            LESSON,
            softmax=softmax,
            attention_scores=lambda answer: answer.replace("return q", "return helper(q)"),
        ),
    ).report
    assert report.exercise("attention-scores").score == 3


def test_a_report_is_the_same_each_time(grader: Grader, hand_in: HandIn) -> None:
    """A second run gives the same score, message for message."""
    path = hand_in(LESSON, softmax="def softmax(x, dim=-1):\n    return x")
    assert grader.grade(LESSON, path).report == grader.grade(LESSON, path).report


@pytest.mark.parametrize(("load", "outcome"), [(0.0, Outcome.TIMEOUT), (1000.0, Outcome.PASSED)])
def test_a_notebook_that_takes_too_long_is_stopped_unless_the_machine_is_busy(
    grader: Grader, hand_in: HandIn, monkeypatch: pytest.MonkeyPatch, load: float, outcome: Outcome
) -> None:
    """When its time is over, the remaining exercises time out, and the others keep their scores."""
    monkeypatch.setattr(session, "LONG_SECONDS", 2.0)
    monkeypatch.setattr(session, "TOTAL_SECONDS", 4.0)
    monkeypatch.setattr(session.os, "getloadavg", lambda: (load, load, load))
    slow = "import time; time.sleep(3)\n"
    path = hand_in(
        LESSON,
        causal_mask=lambda answer: slow + answer,
        padding_mask=lambda answer: slow + answer,
    )
    report = grader.grade(LESSON, path).report
    assert report.exercise("softmax").outcome is Outcome.PASSED
    assert report.exercise("self-attention-head").outcome is outcome


def test_names_taken_over_upstream_do_not_reach_the_stand_ins(
    grader: Grader, hand_in: HandIn
) -> None:
    """A cell that reuses `F` and `math` for something else affects no other exercise."""
    cell = "def softmax(x, dim=-1):\n    return x\nF, math_ = 96485, math"
    report = grader.grade(LESSON, hand_in(LESSON, softmax=cell)).report
    assert others_are_full(report, "softmax")


def test_a_grader_fault_tells_the_student_nothing_of_the_answer(
    grader: Grader, hand_in: HandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The report holds one fixed sentence, the traceback is kept, and no other exercise is affected."""
    answer = load_lesson(grader.course, LESSON)["causal-mask"].answer

    def broken(exercise: Exercise, check: Check, seen: Comparison) -> Verdict:
        if exercise.id == "causal-mask":
            raise ZeroDivisionError(answer)
        return judge(exercise, check, seen)

    judge = runner.judge_check
    monkeypatch.setattr(runner, "judge_check", broken)
    graded = grader.grade(LESSON, hand_in(LESSON))
    told = graded.report.exercise("causal-mask")
    assert (told.outcome, told.score) == (Outcome.GRADER_ERROR, None)
    assert told.checks == [GRADER_ERROR]
    document = graded.report.model_dump_json()
    assert "ZeroDivisionError" not in document
    assert not [line for line in answer.splitlines() if line.strip() and line.strip() in document]
    assert list(graded.tracebacks) == ["causal-mask"]
    assert "in broken" in graded.tracebacks["causal-mask"]
    assert "ZeroDivisionError" in graded.tracebacks["causal-mask"]
    assert others_are_full(graded.report, "causal-mask")


def test_a_memory_hog_costs_its_own_exercise(grader: Grader, hand_in: HandIn) -> None:
    """The notebook is run again without its cell, so the memory is free again."""
    report = grader.grade(LESSON, hand_in(LESSON, causal_mask=HOG)).report
    assert report.exercise("causal-mask").outcome is Outcome.CRASHED
    assert others_are_full(report, "causal-mask")


def test_a_check_has_to_pass_again(grader: Grader, hand_in: HandIn) -> None:
    """An answer that changes with its calls loses every check, and there is an incident.

    As one question gets another answer, all are asked again, many times.
    """
    report = grader.grade(LESSON, hand_in(LESSON, causal_mask=FORGETFUL)).report
    told = report.exercise("causal-mask")
    assert not [check.title for check in told.checks if check.passed]
    assert "same question again" in told.failures[0].message
    assert "changing-answer" in {incident.kind for incident in report.incidents}
    assert others_are_full(report, "causal-mask")


def test_the_more_checks_an_answer_passed_the_less_it_is_asked_again(
    grader: Grader, hand_in: HandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each check was a question, too; what chance has to survive is their number, and each costs time."""
    asked: dict[str, int] = {}
    again = runner.ExerciseRunner._ask_again

    def counted(run: runner.ExerciseRunner, indices: Sequence[int], probe: Probe, round_: int) -> None:
        asked[run.exercise.id] = asked.get(run.exercise.id, 0) + len(indices)
        again(run, indices, probe, round_)

    monkeypatch.setattr(runner.ExerciseRunner, "_ask_again", counted)
    grader.grade(LESSON, hand_in(LESSON))
    exercises = load_lesson(grader.course, LESSON).exercises
    checks = {each.id: len(each.checks) for each in exercises}
    assert asked["scaled-dot-product-attention"] == 20 - checks["scaled-dot-product-attention"] == 6
    assert chance.MOST <= asked["causal-mask"] <= chance.MOST + 1
    assert all(number >= chance.FEWEST for number in asked.values())


def test_of_two_runs_without_points_the_one_that_passed_more_is_better(grader: Grader) -> None:
    """A stretch exercise scores 0 either way; a mistake in an earlier one must not count against it."""
    exercise = replace(load_lesson(grader.course, LESSON)["causal-mask"], points=0)
    merits = []
    for passed in (0, 1, len(exercise.checks)):
        reports = [
            CheckReport(id=check.id, title=check.title, passed=number < passed)
            for number, check in enumerate(exercise.checks)
        ]
        run = outcomes.CheckResults(exercise, reports)
        assert run.score == 0
        merits.append(run.merit)
    assert merits == sorted(merits)
    assert merits[0] < merits[1] < merits[2] == 1


WRONG = """
def padding_mask(ids, pad_id=0):
    wrong = CHANCE
    return (ids != pad_id).unsqueeze(1) ^ wrong
"""
# As the system's random numbers, which grading cannot seed, but the same in every run of this test.
OWN = "globals().setdefault('numbers', __import__('random').Random({})).random() < 0.16"
CHANCES = [*map(OWN.format, (1, 2)), "__import__('random').random() < 0.16", "bool(torch.rand(()) < 0.16)"]
RARE = [OWN.format(seed).replace("0.16", "0.05") for seed in range(1, 7)]
RARE += ["__import__('random').random() < 0.05", "bool(torch.rand(()) < 0.05)"]


@pytest.mark.parametrize("odds", [*CHANCES, *RARE])
def test_what_is_right_by_chance_earns_nothing(grader: Grader, hand_in: HandIn, odds: str) -> None:
    """Wrong once in six calls or in twenty, by numbers of its own, Python's or torch's: at most a quarter of a point."""
    report = grader.grade(LESSON, hand_in(LESSON, padding_mask=WRONG.replace("CHANCE", odds))).report
    assert report.exercise("padding-mask").score <= 0.25
    assert "changing-answer" in {incident.kind for incident in report.incidents}
    assert others_are_full(report, "padding-mask")


def test_what_an_earlier_exercise_calls_is_no_mistake_of_a_later_one() -> None:
    """`Encoder` has a mistake of its own; that a finished attention is called shows only with the student's layer."""
    oracle = Oracle(load_lesson(Course(ROOT), "05_encoder"), KEY)
    exercise = oracle.lesson["encoder"]
    wrong = exercise.answer.replace("layer(x, mask)", "layer(x, None if mask is None or mask.dim() == 2 else mask)")
    seen = evidence(oracle, exercise, [answer_with(exercise, wrong)])
    calling = [replace(i, got=replace(i.got, excluded=("nn.MultiheadAttention",)), passed=False) for i in seen]
    alone, first = (
        outcomes.CheckResults(
            exercise, [CheckReport(id=i.check.id, title=i.check.title, passed=i.passed) for i in found], found
        )
        for found in (seen, calling)
    )
    grading: Any = session.GradingSession(oracle, [], warm=None)  # type: ignore[arg-type]
    assert grading._report(exercise, alone, first).misconceptions == []
    [own] = grading._report(exercise, first).misconceptions
    assert own.id == "library-function"


def test_the_time_of_a_submission_is_over_once_and_shorter_than_the_pools(monkeypatch: pytest.MonkeyPatch) -> None:
    """It grows with the load and is never taken back; the pool's own limit ends only what hangs."""
    monkeypatch.setattr(session.os, "getloadavg", lambda: (1e6, 0.0, 0.0))
    assert session.LAST_SECONDS * session.slowdown() < pool.MAX_SECONDS
    monkeypatch.setattr(session.os, "cpu_count", lambda: 2)
    graded = session.GradingSession.__new__(session.GradingSession)
    graded._started, graded._slow, graded._over = session.time.monotonic() - 300.0, 1.0, False
    found = []
    for load in (4.0, 0.0, 2.0):
        monkeypatch.setattr(session.os, "getloadavg", lambda load=load: (load, 0.0, 0.0))
        found.append(graded._out_of_time())
    assert found == [False, False, False]
    graded._slow = 1.0
    assert [graded._out_of_time(), graded._out_of_time()] == [True, True]
    monkeypatch.setattr(session.os, "getloadavg", lambda: (8.0, 0.0, 0.0))
    assert graded._out_of_time()
