"""Hostile code gains nothing, costs no other exercise anything, and is reported as an incident.

Each notebook in `submissions/hostile` holds a right `softmax`, and a wrong `causal_mask` with the attack
that the notebook is named after.
"""

import shutil
from pathlib import Path

import pytest
from rich.console import Console

from autograder.grading.grader import Grader
from autograder.grading.loop import grade_lesson
from autograder.grading.pool import Pool
from autograder.model.course import CONFIG, Course

LESSON = "03_attention"
FOLDER = Path(__file__).parent / "submissions" / "hostile"
WITHOUT_ATTACK = 0.25  # the score of the wrong causal_mask alone, of 2 points
PARTLY_RIGHT = {"by-chance", "right-only-once"}

INCIDENTS = {
    "background-thread": set(),
    "by-chance": set(),
    "close-every-file": {"ended-process"},
    "daemon-left-behind": {"left-process", "started-process"},
    "deep-recursion": {"ended-process"},
    "deep-value": set(),
    "delete-everything": {"wrote-outside"},
    "equal-to-everything": set(),
    "exit-codes-of-success": {"ended-process"},
    "exit-hard": {"ended-process"},
    "exit-in-call": {"ended-process"},
    "exit-polite": {"ended-process"},
    "file-too-big": set(),
    "fill-the-disk": set(),
    "flood-channel": {"noise"},
    "flood-output": {"flooded-output"},
    "forged-answer": {"noise"},
    "fork-bomb": {"too-much"},
    "huge-value": set(),
    "import-hook": {"ended-process"},
    "keyboard-interrupt": {"ended-process"},
    "keyring": set(),
    "kill-everything": {"signalled"},
    "kill-itself": {"ended-process"},
    "kill-parent": {"signalled"},
    "leaves-work-in-shared-memory": {"wrote-outside"},
    "link-to-outside": set(),
    "list-all-objects": {"searched-memory"},
    "lying-tensor": set(),
    "many-threads": set(),
    "marks-in-text": set(),
    "memory-hog": set(),
    "memory-without-a-file": set(),
    "nested-namespace": set(),
    "network-connect": {"network"},
    "network-download": {"network"},
    "own-autograder": set(),
    "patch-builtins": {"patched"},
    "patch-code": {"patched"},
    "patch-module": {"patched"},
    "patch-observe": {"patched"},
    "patch-probe": {"patched"},
    "patch-shell": {"patched"},
    "patch-tensor": {"patched"},
    "patch-torch": {"patched"},
    "patch-wire": {"patched"},
    "pickle-bomb": set(),
    "program-left-behind": {"left-process", "started-process"},
    "read-other-work": set(),
    "reads-its-caller": set(),
    "right-only-once": {"changing-answer"},
    "script-in-message": set(),
    "segmentation-fault": {"ended-process"},
    "shared-memory": set(),
    "shell-commands": set(),
    "steals-the-channel": set(),
    "tensor-for-a-status": {"noise"},
    "trace-everything": {"hooked-interpreter"},
    "write-coursework": {"wrote-outside"},
    "write-system": {"wrote-outside"},
}
ENDLESS = {
    "alarm-switched-off": {"too-much"},
    "computes-and-sleeps": set(),
    "endless-loop-in-call": set(),
    "endless-value": set(),
    "event-loop": set(),
    "freezes-the-clock": {"too-much"},
    "ignores-signals": {"too-much"},
    "stops-its-supervisor": {"too-much"},
    "stops-itself": set(),
    "trickled-reply": set(),
}

pytestmark = pytest.mark.sandbox

# One of each kind, for `make test`.
EACH_KIND = {
    "daemon-left-behind",
    "delete-everything",
    "equal-to-everything",
    "exit-hard",
    "flood-output",
    "fork-bomb",
    "forged-answer",
    "kill-everything",
    "list-all-objects",
    "memory-hog",
    "network-connect",
    "patch-torch",
    "pickle-bomb",
    "read-other-work",
    "right-only-once",
}
ALSO = pytest.mark.full("attacks of the same kinds", seconds=2)
ATTACKS = [
    pytest.param(name, kinds, id=name, marks=[] if name in EACH_KIND else [ALSO]) for name, kinds in INCIDENTS.items()
]
# How each way to wait is ended, tests/sandbox/test_isolation.py says; `make test` hands in these.
ENDED_IN_A_CLASS = {"computes-and-sleeps", "endless-loop-in-call", "endless-value", "trickled-reply"}
NEVER_ENDING = [
    pytest.param(name, kinds, id=name, marks=[] if name in ENDED_IN_A_CLASS else [ALSO])
    for name, kinds in ENDLESS.items()
]


def test_every_attack_is_listed() -> None:
    """A notebook without an expectation would prove nothing."""
    assert {path.stem for path in FOLDER.glob("*.ipynb")} == {*INCIDENTS, *ENDLESS}


@pytest.mark.parametrize(("name", "kinds"), ATTACKS)
def test_an_attack_gains_nothing_and_is_reported(name: str, kinds: set[str], grader: Grader) -> None:
    """The right answer keeps its score, and the wrong one gets no more than without the attack."""
    _gains_nothing(name, kinds, grader)


@pytest.mark.usefixtures("short_limits")
@pytest.mark.parametrize(("name", "kinds"), NEVER_ENDING)
def test_what_never_ends_is_ended(name: str, kinds: set[str], grader: Grader) -> None:
    """With the alarm off, in a value, stopped, or by an answer that trickles: it gains nothing either."""
    _gains_nothing(name, kinds, grader)


def _gains_nothing(name: str, kinds: set[str], grader: Grader) -> None:
    report = grader.grade(LESSON, FOLDER / f"{name}.ipynb").report
    right, attacked = report.exercise("softmax"), report.exercise("causal-mask")
    assert (right.score, right.outcome) == (2, "passed")
    assert attacked.score is not None
    assert attacked.score <= (1 if name in PARTLY_RIGHT else WITHOUT_ATTACK)
    assert attacked.outcome in {"failed", "error", "crashed", "timeout"}
    assert kinds <= {incident.kind for incident in report.incidents}
    others = {e.outcome for e in report.exercises if e.id not in {"softmax", "causal-mask"}}
    assert others == {"missing"}


def test_the_wrong_answer_without_an_attack_scores_as_stated(grader: Grader, tmp_path: Path) -> None:
    """This score is the bound that the attacks are compared with."""
    text = (FOLDER / "list-all-objects.ipynb").read_text()
    path = tmp_path / f"{LESSON}.ipynb"
    start, end = text.index('"import gc'), text.index('"def causal_mask')
    path.write_text(text[:start] + text[end:])
    report = grader.grade(LESSON, path).report
    assert report.exercise("causal-mask").score == WITHOUT_ATTACK
    assert report.incidents == []


def test_nothing_was_unpickled_or_left_outside() -> None:
    """The files that the attacks try to write on this machine do not exist."""
    assert not Path("/tmp/was-unpickled").exists()
    assert not Path("/usr/lib/python3/evil.py").exists()


def _hand_in(course: Course, student: str, notebook: Path) -> None:
    path = course.submission(student, LESSON)
    path.parent.mkdir(parents=True)
    shutil.copy(notebook, path)


@pytest.mark.full("a class of attackers", seconds=30)
def test_hostile_submissions_change_no_other_score(course: Course, tmp_path: Path) -> None:
    """An honest student's scores are the same alone and in a class of attackers."""
    here = Course(tmp_path)
    shutil.copy(course.root / CONFIG, tmp_path)
    for folder in (course.release, course.source):
        shutil.copytree(folder, tmp_path / folder.name)
    honest = course.root / "tests/submissions/hostile/flood-output.ipynb"
    _hand_in(here, "m-honest", honest)
    with Pool(1, sandboxed=True) as pool:
        alone = grade_lesson(here, LESSON, pool, console=Console(quiet=True))[0]
    for student, attack in enumerate(["exit-hard", "kill-everything", "fork-bomb", "patch-probe"]):
        _hand_in(here, f"{'az'[student % 2]}-{attack}", FOLDER / f"{attack}.ipynb")
    with Pool(2, sandboxed=True) as pool:
        attempts = grade_lesson(here, LESSON, pool, force=True, console=Console(quiet=True))
    again = next(attempt for attempt in attempts if attempt.student == "m-honest")
    assert [e.score for e in again.report.exercises] == [e.score for e in alone.report.exercises]
    assert not any(attempt.faulty for attempt in attempts)
