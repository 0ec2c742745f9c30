"""Whatever lies next door, a lesson begins: with the student's own parts, or with stand-ins and a reason."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from conftest import solve

from autograder.judge.oracle import Oracle
from autograder.lessons.loading import load_lesson
from autograder.model.course import Course
from autograder.model.draw import PUBLIC_KEY
from coursework import earlier, earlier_trial, scope, stand_ins
from coursework.earlier import load_earlier

LESSON = "04_multi_head_attention"
NAME = "scaled_dot_product_attention"
GOOD = """
import math
def helper(q, k):
    return torch.einsum("...qd,...kd->...qk", q, k) / math.sqrt(q.size(-1))

def scaled_dot_product_attention(q, k, v, mask=None):
    s = helper(q, k)
    s = s if mask is None else s.masked_fill(~mask, -1e9)
    w = F.softmax(s, -1)
    w = w if mask is None else w * mask
    return w @ v, w
"""
NEXT_DOOR = "../03_attention/03_attention.ipynb"
FAILS = f'fails `check("{NAME}")` there'
Lay = Callable[..., Path]


def notebook(*cells: str, **grade: Any) -> dict[str, Any]:
    """Return a notebook of solution cells."""
    about = {"nbgrader": {"solution": True, "grade": False, "locked": False, **grade}}
    return {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {},
        "cells": [
            {"cell_type": "code", "id": str(number), "source": source, "outputs": [],
             "metadata": {"nbgrader": {**about["nbgrader"], "grade_id": f"part-{number}"}}}
            for number, source in enumerate(cells)
        ],
    }  # fmt: skip


@pytest.fixture
def lay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lay:
    """Lay a notebook of lesson 3 next to where lesson 4 is opened; return that folder."""
    monkeypatch.delenv("COURSEWORK_STAND_INS", raising=False)

    def put(content: Any, at: str = "../03_attention/03_attention.ipynb") -> Path:
        here = tmp_path / LESSON
        here.mkdir(exist_ok=True)
        path = (here / at).resolve()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            content if isinstance(content, str) else json.dumps(content), encoding="utf-8"
        )
        return here

    return put


def told(folder: Path, capfd: pytest.CaptureFixture[str]) -> tuple[Any, str]:
    """Load, and return the part with the one line that was printed, which may have been wrapped."""
    part = load_earlier(LESSON, folder)[NAME]
    out, err = capfd.readouterr()
    assert err == ""
    (line,) = out.replace("\n  ", " ").splitlines()
    return part, line


@pytest.mark.parametrize(
    ("at", "shown"),
    [
        ("../03_attention/03_attention.ipynb", "../03_attention/03_attention.ipynb"),
        ("03_attention.ipynb", "03_attention.ipynb"),
        ("03_attention/03_attention.ipynb", "03_attention/03_attention.ipynb"),
        ("../03_attention.ipynb", "../03_attention.ipynb"),
    ],
)
def test_a_good_notebook_is_found_where_it_may_lie(
    at: str, shown: str, lay: Lay, capfd: pytest.CaptureFixture[str]
) -> None:
    """Nbgrader's fetch, what was handed in, and a plain folder: the student's own part is used."""
    part, line = told(lay(notebook(GOOD), at), capfd)
    assert line == f"{NAME}: yours, from {shown}"
    assert part.__module__ == "lesson_03_attention"
    x = torch.randn(3, 4)
    torch.testing.assert_close(part(x, x, x), stand_ins.scaled_dot_product_attention(x, x, x))


def test_the_model_answers_of_lesson_3_are_taken(
    course: Course, lay: Lay, capfd: pytest.CaptureFixture[str]
) -> None:
    """A solved copy of the release, with nbgrader's own metadata, is used."""
    _, line = told(lay(json.dumps(solve(course, "03_attention"))), capfd)
    assert line.startswith(f"{NAME}: yours")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "cannot be read"),
        ("{", "cannot be read"),
        ("[" * 100_000, "cannot be read"),
        ("[1, 2]", "no answers were found"),
        ('{"cells": [3, {"cell_type": "code", "metadata": 4}]}', "no answers were found"),
        ('{"cells": "all"}', "no answers were found"),
        (notebook("def f(:\n    pass"), "no answers were found"),
        (notebook("x = 1"), f"yours in {NEXT_DOOR} is not defined in any cell"),
        (notebook(f"{GOOD} +"), f"yours in {NEXT_DOOR} has a syntax error in line 12 of its cell"),
        (notebook(f"{GOOD} +", "x = 1"), f"yours in {NEXT_DOOR} has a syntax error in line 12 of its cell"),
        (notebook(f"{GOOD}\0"), f"yours in {NEXT_DOOR} has a "),
        (notebook(f"import nowhere\n{GOOD}"), "is not defined, because its cell ends with an exception"),
        (notebook(GOOD, solution=False), "no answers were found"),
        (notebook("def scaled_dot_product_attention(q, k, v, mask=None):\n    raise NotImplementedError()"),
         "is not filled in yet"),
        (notebook(GOOD.replace("* mask", "")), FAILS),
        (notebook(GOOD.replace("~mask", "mask")), FAILS),
        (notebook(GOOD.replace("/ math.sqrt", "* math.sqrt")), FAILS),
        (notebook(GOOD.replace("w @ v", "(w @ v).detach()")), FAILS),
        (notebook(GOOD.replace("w @ v, w", "w @ v")), FAILS),
        (notebook(GOOD.replace("s = helper(q, k)", "import sys; sys.exit(0)")), "raised SystemExit"),
        (notebook(GOOD.replace("s = helper(q, k)", "s = nowhere(q, k)")), "raised NameError (name 'nowhere' is not"),
        (notebook(GOOD.replace("s = helper(q, k)", "import os; os._exit(0)")), "ended its whole process"),
        (notebook("import os\nx = os._exit(3)", GOOD), "ended its whole process"),
    ],
)  # fmt: skip
def test_a_bad_notebook_costs_one_line(
    content: Any, reason: str, lay: Lay, capfd: pytest.CaptureFixture[str]
) -> None:
    """Damaged, half-done, wrong or violent: the stand-in takes over and the line says why."""
    part, line = told(lay(content), capfd)
    assert part is stand_ins.scaled_dot_product_attention
    assert line.startswith(f"{NAME}: the stand-in, since ")
    assert reason in line


CALLS = GOOD[GOOD.index("def scaled_dot") :]
HELPER = "def helper(q, k):\n    return q @ k.mT / q.size(-1) ** 0.5"


@pytest.mark.parametrize(
    ("own", "answer", "below"),
    [
        (HELPER, CALLS, ""),
        ("print('hello')\n" + HELPER.replace("def helper(q, k):\n    return", "helper = lambda q, k:"), CALLS, ""),
        ("", CALLS, HELPER),
        ("import math as m, itertools", CALLS.replace("helper(q, k)", "q @ k.mT / m.sqrt(q.size(-1))"), ""),
        ("TINY = -1e9", GOOD.replace("-1e9", "TINY"), ""),
        (HELPER.replace("0.5", "HALF"), CALLS, "HALF = 0.5"),
        ("", GOOD, f"{CALLS}\n\ndef helper(q, k):\n    return q\nF = None\nmath = 1 / 0"),  # not needed
        ("s = w = 1 / 0\nq = input()", GOOD, "helper = 3"),  # so named inside a function only
    ],
)
def test_what_an_answer_needs_of_other_cells_comes_along(
    own: str, answer: str, below: str, lay: Lay, capfd: pytest.CaptureFixture[str]
) -> None:
    """As in grading: helper functions, constants and imports in cells of one's own. What has a place keeps it."""
    content = notebook(own, answer, below)
    for added in (content["cells"][0], content["cells"][2]):
        added["metadata"] = {}
    part, line = told(lay(content), capfd)
    assert line == f"{NAME}: yours, from {NEXT_DOOR}"
    x = torch.randn(3, 4)
    torch.testing.assert_close(part(x, x, x), stand_ins.scaled_dot_product_attention(x, x, x))


@pytest.mark.parametrize(
    "cells",
    [
        [GOOD.replace("s = helper(q, k)", "\n    while True: pass")],
        ["def forever():\n    while True: pass", "x = forever()", GOOD],
    ],
)
def test_an_endless_loop_is_cut_short(
    cells: list[str], lay: Lay, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a part or in a cell, a loop without end costs its time limit and no more."""
    monkeypatch.setattr(earlier, "STEP_SECONDS", 1.0)
    part, line = told(lay(notebook(*cells)), capfd)
    assert part is stand_ins.scaled_dot_product_attention
    assert "did not come to an end" in line


def test_cells_define_and_do_nothing_else(
    lay: Lay, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Prints, plots, loops, shell lines, seeds and patches of PyTorch are left out."""
    trace = tmp_path / "trace"
    noise = (
        "%matplotlib inline\n!ls\nprint('hello')\nimport torch\ntorch.manual_seed(0)\n"
        f"open({str(trace)!r}, 'w').write('x')\nF.relu = None\nfor _ in iter(int, 1): pass\n"
    )
    torch.manual_seed(5)
    state = torch.get_rng_state()
    relu = torch.nn.functional.relu
    _, line = told(lay(notebook(noise + GOOD, "print('more')")), capfd)
    assert "yours" in line
    assert not trace.exists()
    assert torch.nn.functional.relu is relu
    assert torch.equal(torch.get_rng_state(), state)


def test_what_a_cell_prints_while_defining_is_not_shown(
    lay: Lay, capfd: pytest.CaptureFixture[str]
) -> None:
    """Only the loader's own line appears."""
    _, line = told(
        lay(notebook("def noisy():\n    print('noise')\n    return 1\nx = noisy()", GOOD)), capfd
    )
    assert "yours" in line


def test_nothing_next_door_starts_no_process(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when marking: the stand-in is there at once."""
    monkeypatch.delenv("COURSEWORK_STAND_INS", raising=False)
    monkeypatch.setattr(subprocess, "Popen", None)
    part, line = told(tmp_path, capfd)
    assert part is stand_ins.scaled_dot_product_attention
    assert line.endswith("the stand-in, since there is no 03_attention.ipynb next door")


def test_stand_ins_can_be_asked_for(
    lay: Lay, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The environment variable wins over a good notebook."""
    folder = lay(notebook(GOOD))
    monkeypatch.setenv("COURSEWORK_STAND_INS", "1")
    part, line = told(folder, capfd)
    assert part is stand_ins.scaled_dot_product_attention
    assert "COURSEWORK_STAND_INS is set" in line


def test_parts_of_several_lessons_are_tried_apart(
    lay: Lay, capfd: pytest.CaptureFixture[str]
) -> None:
    """One part that ends its process costs neither its neighbours nor the lessons after it."""
    folder = lay(notebook(
        GOOD,
        "def padding_mask(ids, pad_id=0):\n    import os\n    os._exit(0)",
        "def causal_mask(size):\n    return torch.arange(size)[:, None] >= torch.arange(size)",
    ))  # fmt: skip
    feed = "class FeedForward(nn.Module):\n    def __init__(self, d_model, d_ff, dropout=0.1):\n" \
        "        super().__init__()\n        self.linear1 = nn.Linear(d_model, d_ff)\n" \
        "        self.linear2 = nn.Linear(d_ff, d_model)\n    def forward(self, x):\n" \
        "        return self.linear2(F.relu(self.linear1(x)))\n"  # fmt: skip
    lay(notebook(feed, "class LayerNorm(nn.Module):\n    pass"), "../05_encoder/05_encoder.ipynb")
    parts = load_earlier("06_decoder", folder)
    lines = dict(line.split(": ", 1) for line in capfd.readouterr().out.replace("\n  ", " ").splitlines())
    assert list(parts) == list(lines)
    assert "ended its whole process" in lines["padding_mask"]
    assert "yours" in lines["causal_mask"]
    assert "yours" in lines["FeedForward"]
    assert "raised TypeError" in lines["LayerNorm"]
    assert "there is no 04_multi_head_attention.ipynb" in lines["MultiHeadAttention"]
    assert parts["padding_mask"] is stand_ins.padding_mask


def edited(course: Course, name: str, mistake: str = "") -> dict[str, Any]:
    """Return what a model answer defines, with a mistake in it."""
    lesson = load_lesson(course, scope.ORIGIN[name])
    exercise = next(each for each in lesson.exercises if each.name == name)
    found = Oracle(lesson, PUBLIC_KEY).edited(exercise, [exercise.mistake(mistake)] if mistake else [])
    assert found is not None
    return found


@pytest.mark.parametrize("name", scope.ORIGIN)
def test_every_model_answer_can_be_used(name: str, course: Course) -> None:
    """Its results are those of the examples, and its gradients those of the stand-in."""
    assert not earlier_trial.problem_of(name, edited(course, name))


@pytest.mark.parametrize(
    ("name", "mistake", "problem"),
    [
        ("rotary", "detached", "differs in its gradients"),
        ("MultiHeadAttention", "cut-off-from-gradients", "differs in its gradients"),
        ("LayerNorm", "statistics-detached", "differs in its gradients"),
        ("GatedFeedForward", "detached", "differs in its gradients"),
        ("Decoder", "memory-detached", "differs in its gradients"),
        ("CausalDecoderLayer", "sum-in-place", "raised RuntimeError"),
        ("TokenEmbedding", "frozen", "fails"),  # an example asks for its gradients
    ],
)
def test_a_part_that_would_not_learn_is_not_used(
    name: str, mistake: str, problem: str, course: Course
) -> None:
    """All of its examples come out right, but a model would not be trained through it."""
    assert earlier_trial.problem_of(name, edited(course, name, mistake)).startswith(problem)
