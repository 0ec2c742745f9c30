"""Whatever a cell does, it costs its own exercise only: the others are tried again without it."""

import shutil
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest

from autograder.grading import runner, session
from autograder.grading.grader import Grader
from autograder.model.report import Report
from autograder.sandbox.client import WarmProcess
from autograder.sandbox.run import Run

HandIn = Callable[..., Path]
LESSON = "03_attention"
WRONG = "\ndef softmax(x, dim=-1):\n    return x\n"
DAMAGE = {
    "ends the process": "import os\nos._exit(0)",
    "kills the process": "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)",
    "hangs": "while True:\n    pass",
    "hoards memory": "hoard = [bytearray(2**28) for _ in range(100)]",
    "shadows torch": "torch = None",
    "shadows sum": "sum = max = range = len = None",
    "replaces stdout": "import sys\nsys.stdout = sys.stderr = None",
    "sets a default device": "torch.set_default_device('meta')",
    "sets a default dtype": "torch.set_default_dtype(torch.float64)",
    "switches gradients off": "torch.set_grad_enabled(False)",
    "uses deterministic algorithms": "torch.use_deterministic_algorithms(True)",
    "closes every file": "import os\nos.closerange(0, 256)",
    "patches a method": "torch.Tensor.masked_fill = None\nnn.Module.__call__ = None",
    "sets the recursion limit": "import sys\nsys.setrecursionlimit(30)",
    "raises at once": "raise RuntimeError('no')",
    "leaves a thread": "import threading\nthreading.Thread(target=lambda: [0 for _ in iter(int, 1)]).start()",
    "handles signals": "import signal\nfor n in range(1, 30):\n    try: signal.signal(n, signal.SIG_IGN)\n    except Exception: pass",
}


@pytest.fixture(autouse=True)
def short_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give endless loops less time than in a real run."""
    monkeypatch.setattr(session, "ANSWER_SECONDS", 2.0)
    monkeypatch.setattr(session, "OWN_CELL_SECONDS", 2.0)
    monkeypatch.setattr(runner, "PROBE_SECONDS", 2.0)


def lost(report: Report) -> list[str]:
    """Return the exercises that did not get all their points."""
    return [each.id for each in report.exercises if each.score != each.points]


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_damage_done_by_an_answer_costs_its_own_exercise(
    damage: str, grader: Grader, hand_in: HandIn
) -> None:
    """The cell of `softmax` is wrong and does damage, with nothing before it to blame."""
    report = grader.grade(LESSON, hand_in(LESSON, softmax=damage + WRONG)).report
    assert lost(report) == ["softmax"]


@pytest.mark.full("the damage is that of the test above")
@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_damage_done_by_a_cell_of_ones_own_costs_nothing(
    damage: str, grader: Grader, hand_in: HandIn
) -> None:
    """A cell that the student added at the top belongs to no exercise."""
    path = hand_in(LESSON)
    notebook = nbformat.read(path, as_version=4)
    notebook.cells.insert(0, nbformat.v4.new_code_cell(damage))
    nbformat.write(notebook, path)
    assert lost(grader.grade(LESSON, path).report) == []


def with_cells(path: Path, after: str, *sources: str) -> Path:
    """Insert cells of the student's after the cell of an exercise."""
    notebook = nbformat.read(path, as_version=4)
    ids = [cell.metadata.get("nbgrader", {}).get("grade_id") for cell in notebook.cells]
    place = ids.index(after) + 1
    notebook.cells[place:place] = [nbformat.v4.new_code_cell(source) for source in sources]
    nbformat.write(notebook, path)
    return path


def test_helpers_are_taken_along(grader: Grader, hand_in: HandIn) -> None:
    """Alone, an answer still has the functions, imports and tables of other cells that it uses."""
    path = hand_in(
        LESSON,
        softmax="def softmax(x, dim=-1):\n    return x\n\n\ndef widths(k):\n    return TABLE['width'](k)\n",
        attention_scores=(
            "def attention_scores(q, k):\n"
            "    softmax(q)[0].nope if softmax(q) is q else None\n"
            "    return arithmetic.truediv(q @ k.transpose(-2, -1), widths(k))\n"
        ),
    )
    with_cells(path, "softmax", "import operator as arithmetic\nTABLE = {}", "def _root(n):\n    return n ** 0.5",
               "TABLE['width'] = lambda k: _root(k.size(-1))")
    report = grader.grade(LESSON, path).report
    assert lost(report) == ["softmax"]
    assert report.exercise("attention-scores").score == 3


def _opened(monkeypatch: pytest.MonkeyPatch) -> list[Run]:
    """Return a list of the runs that are opened from now on."""
    opened, run = [], WarmProcess.run

    def noted(warm: WarmProcess, deadline: float) -> Run:
        opened.append(run(warm, deadline))
        return opened[-1]

    monkeypatch.setattr(WarmProcess, "run", noted)
    return opened


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")
@pytest.mark.parametrize(
    ("left", "runs"),
    [
        ("", 1),
        ("open('/tmp/left', 'w').write('x')", 3),
        ("open('/dev/shm/left', 'w').write('x')", 3),
        ("import os\n    if os.fork() == 0:\n        os.setsid()\n        import time\n        time.sleep(9)", 3),
    ],
    ids=["nothing", "file", "shared-memory", "process"],
)
def test_one_run_serves_what_is_graded_alone_while_nothing_is_left_in_it(
    left: str, runs: int, grader: Grader, hand_in: HandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first of two wrong answers leaves something behind: the second is graded in another run."""
    opened = _opened(monkeypatch)
    first = f"def attention_scores(q, k):\n    {left or 'pass'}\n    return q @ k.transpose(-2, -1)\n"
    second = "def padding_mask(ids, pad_id=0):\n    return ids == pad_id\n"
    path = hand_in(LESSON, attention_scores=first, padding_mask=second)
    report = grader.grade(LESSON, path).report
    assert lost(report) == ["attention-scores", "padding-mask"]
    assert len(opened) == runs
    assert not any(run.alive for run in opened)


def test_what_was_seen_with_other_parts_is_not_mixed_into_the_evidence(
    grader: Grader, hand_in: HandIn
) -> None:
    """Two mistakes make up for each other, except where the first shows by itself.

    The softmax ignores `dim` and does not subtract the maximum; attention asks it for the wrong dimension.
    """
    wrong = "def softmax(x, dim=-1):\n    e = x.exp()\n    return e / e.sum(-1, keepdim=True)\n"
    attention = (
        "def scaled_dot_product_attention(q, k, v, mask=None):\n"
        "    scores = attention_scores(q, k)\n"
        "    if mask is not None:\n"
        "        scores = scores.masked_fill(~mask, -1e9)\n"
        "    weights = softmax(scores, dim=-2)\n"
        "    if mask is not None:\n"
        "        weights = weights.masked_fill(~mask, 0.0)\n"
        "    return weights @ v, weights\n"
    )
    path = hand_in(LESSON, softmax=wrong, scaled_dot_product_attention=attention)
    report = grader.grade(LESSON, path).report.exercise("scaled-dot-product-attention")
    assert [check.id for check in report.checks if not check.passed] == ["large-scores"]
    assert report.score is not None
    assert report.score > 4
    assert [mistake.id for mistake in report.misconceptions] == ["softmax-over-queries"]
