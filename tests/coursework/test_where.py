"""`check(…, where=True)` tells the line that a small change mends, and never touches what the student has."""

import linecache
import math
import os
import signal
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import nbformat
import psutil
import pytest
import torch
import torch.nn.functional as F
from conftest import ROOT

from autograder.lessons.loading import load_lesson
from autograder.model.course import Course
from coursework import check
from coursework.engine.operations import CallFunction
from coursework.engine.trial import took_too_long, try_for
from coursework.instant import where
from coursework.instant.card import TOOK_TOO_LONG, Card
from coursework.instant.exercises import exercises_of, visible_test
from coursework.instant.skip import made
from coursework.scope import NEEDS, stand_in

RIGHT = (
    "def softmax(x, dim=-1):\n    e = torch.exp(x - x.amax(dim, keepdim=True))\n"
    "    return e / e.sum(dim, keepdim=True)\n"
)
WRONG_AXIS = RIGHT.replace("e.sum(dim,", "e.sum(0,")


def cell(source: str, **names: Any) -> dict[str, Any]:
    """Return the names of a notebook in which a cell was run."""
    place = f"/tmp/ipykernel_1/{abs(hash(source))}.py"
    linecache.cache[place] = (len(source), None, source.splitlines(keepends=True), place)
    scope = {"torch": torch, **names}
    exec(compile(source, place, "exec"), scope)
    return scope


def asked(source: str, name: str = "softmax", **names: Any) -> Card:
    """Ask for the line of one answer."""
    return check(name, cell(source, **names), where=True)


@pytest.fixture(autouse=True)
def no_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give a search more time than a student waits: this machine may be busy."""
    monkeypatch.setattr(where, "SECONDS", 8.0)
    monkeypatch.setattr(where, "LATEST", 40.0)


@pytest.fixture(params=["fork", "no fork"])
def either_way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Search in a fork, and as on a system without forks and alarms."""
    if request.param == "no fork":
        monkeypatch.delattr(os, "fork")
        monkeypatch.setattr("coursework.engine.trial.signal", SimpleNamespace())


@pytest.mark.parametrize(
    ("source", "name", "sentence", "lines"),
    [
        (WRONG_AXIS, "softmax", "Every example passes with another dimension in line 3.", [3]),
        (
            RIGHT.replace("keepdim=True))", "keepdim=False))"),
            "softmax",
            "Every example passes with another `keepdim` in line 2.",
            [2],
        ),
        (
            "def causal_mask(size):\n    i = torch.arange(size)\n    return i[:, None] > i[None]\n",
            "causal-mask",
            "Every example passes with another comparison in line 3.",
            [3],
        ),
        (
            "def causal_mask(size):\n    mask = torch.ones(size, size).tril().bool()\n    print(mask)\n",
            "causal-mask",
            "Something is missing after line 3.",
            [3],
        ),
        (RIGHT.replace("return ", ""), "softmax", "Every example passes with a return in line 3.", [3]),
        (RIGHT.replace("e.sum", "x.sum"), "softmax", "Every example passes with another variable in line 3.", [3]),
    ],
)
def test_the_place_and_the_kind_are_told(
    source: str, name: str, sentence: str, lines: list[int], either_way: None
) -> None:
    """With the student's own text of the line, in plain text and in the notebook, and not the change."""
    card = asked(source, name)
    texts = source.split("\n")
    assert (card.where, [number for number, _ in card.blamed]) == (sentence, lines)
    assert all(text == texts[number - 1] for number, text in card.blamed)
    assert sentence in card.text
    assert all(text in card.text for _, text in card.blamed)
    assert sentence.partition(" with ")[0] in card.html


@pytest.mark.parametrize(
    "source",
    [
        "def softmax(x, dim=-1):\n    return x\n",
        "def softmax(x, dim=-1):\n    return torch.sigmoid(x, dim)\n",  # its sibling is excluded
        f"import torch.nn as nn\n{WRONG_AXIS}x = 1\n" + "y = 1\n" * 5000,
    ],
)
def test_one_plain_line_says_that_nothing_was_found(source: str) -> None:
    """Also where only a function that the exercise excludes would do, and where the cell is far too long."""
    card = asked(source)
    assert (card.where, card.blamed) == (where.NOTHING, ())
    assert where.NOTHING in card.text


def test_several_unrelated_changes_tell_no_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody would know which of them is meant."""
    monkeypatch.setattr(where, "told", lambda *_: [])
    card = asked(WRONG_AXIS)
    assert (card.where, card.blamed) == (where.SEVERAL, ())


@pytest.mark.parametrize(
    "source",
    [
        WRONG_AXIS,
        RIGHT.replace("torch.exp", "torch.sin"),  # no known mistake
        RIGHT.replace("e.sum", "x.sum"),
        RIGHT.replace("return ", "while True: pass\n    return "),
    ],
)
def test_a_card_offers_to_look_where_only_the_results_are_wrong(
    source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The code runs and returns something, or never ends: a small change may be enough."""
    endless = "while True" in source
    if endless:
        monkeypatch.setattr("coursework.instant.notebook.SECONDS", 0.3)
    card = check("softmax", cell(source))
    assert card.where == 'If one small change is enough, `check("softmax", where=True)` may find its line.'
    assert (card.title == TOOK_TOO_LONG) is endless


@pytest.mark.parametrize(
    "source",
    [
        RIGHT,
        "def softmax(x, dim=-1):\n    return torch.softmax(x, dim)\n",  # excluded
        "def softmax(x, dim=-1):\n    raise NotImplementedError()\n",
        RIGHT.replace("return ", ""),
        "def softmax(x, dim=-1):\n    e = x.exq()\n    return e\n",  # its line is in the title
        "def softmax(x):\n    return x\n",  # cannot be called as the examples do
    ],
)
def test_a_card_offers_nothing_where_a_search_seldom_helps(source: str) -> None:
    """What is missing, or ends in an exception, is told by the card itself."""
    assert check("softmax", cell(source)).where == ""
    assert check("softmax", {}).where == ""


def test_two_known_mistakes_are_not_looked_for() -> None:
    """No single change is enough for both."""
    source = "def causal_mask(size):\n    return torch.ones(size, size).triu()\n"  # inverted, and floats
    card = check("causal-mask", cell(source))
    assert card.title
    assert card.where == ""


def test_a_named_mistake_that_raises_is_told_with_its_line() -> None:
    """The card says where the exception was raised, in plain text and in the notebook."""
    source = (
        "def one_hot_embed(ids, table):\n"
        "    rows = torch.nn.functional.one_hot(ids, table.size(1)).float()\n    return rows @ table\n"
    )
    card = check("one-hot-embed", cell(source))
    assert card.known
    assert (card.where, card.blamed) == ("The exception was raised in line 3.", [(3, "return rows @ table")])
    assert "   3  return rows @ table" in card.text


def test_a_right_answer_has_no_line_to_look_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is searched."""
    monkeypatch.setattr(where, "where", lambda *_: pytest.fail("searched"))
    assert asked(RIGHT).passed
    assert not asked("def softmax(x, dim=-1):\n    return torch.softmax(x, dim)\n").where


def test_the_names_of_the_student_stay_as_they_are() -> None:
    """Changes count what they do in a fork, on copies: neither names nor what they hold differ afterwards."""
    source = "calls = []\n" + WRONG_AXIS.replace("    e =", "    calls.append(seen.pop())\n    e =")
    names = cell(source, seen=list(range(100_000)))
    seen, calls = list(names["seen"]), list(names["calls"])
    check("softmax", names)
    tried = len(seen) - len(names["seen"])
    before = {**names}
    card = check("softmax", names, where=True)
    assert card.where == "Every example passes with another dimension in line 5."
    assert names == before
    assert len(names["seen"]) == len(seen) - 2 * tried  # the check itself, twice
    assert len(names["calls"]) == len(calls) + 2 * tried


def test_an_endless_loop_ends_and_may_be_mended(either_way: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the answer as of its changes; the check itself waits once, not for each example."""
    monkeypatch.setattr("coursework.instant.notebook.SECONDS", 0.3)
    source = (
        "def causal_mask(size):\n    mask = torch.zeros(size, size, dtype=torch.bool)\n    i = 0\n"
        "    while i < size:\n        mask[i, : i + 1] = True\n        i -= 1\n    return mask\n"
    )
    began = time.monotonic()
    card = asked(source, "causal-mask")
    assert time.monotonic() - began < 30
    assert card.where == "Every example passes with another sign in line 6."


def test_a_fork_that_never_answers_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither it nor its pipe stays."""
    monkeypatch.setattr(where, "LATEST", 0.2)
    open_before, children = {*Path("/proc/self/fd").iterdir()}, psutil.Process().children()

    def never() -> Any:
        yield ()
        signal.signal(signal.SIGALRM, signal.SIG_IGN)
        while True:
            time.sleep(1)

    assert where._in_a_fork(never) == [()]
    assert {*Path("/proc/self/fd").iterdir()} == open_before
    assert psutil.Process().children() == children


def test_an_earlier_exercise_that_is_wrong_is_right_in_the_search() -> None:
    """As in grading: the line of this answer is told, and the names are as they were."""
    wrong = cell("def attention_scores(q, k):\n    return q @ k.mT\n")
    source = (
        "def scaled_dot_product_attention(q, k, v, mask=None):\n    scores = attention_scores(q, k)\n"
        "    if mask is not None:\n        scores = scores.masked_fill(mask, -1e9)\n"
        "    weights = softmax(scores)\n"
        "    if mask is not None:\n        weights = weights.masked_fill(~mask, 0.0)\n"
        "    return weights @ v, weights\n"
    )
    names = cell(source, attention_scores=wrong["attention_scores"], softmax=cell(RIGHT)["softmax"])
    before = {**names}
    card = check("scaled-dot-product-attention", names, where=True)
    assert [number for number, _ in card.blamed] == [4]
    assert names == before


def test_time_is_limited_where_no_alarm_can_be_set() -> None:
    """In a thread that is not the main one, and so on systems without alarms."""
    seen = []

    def endless() -> None:
        while True:
            pass

    def run() -> None:
        seen.append(try_for(0.1, CallFunction(()), endless, "endless"))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(10)
    assert took_too_long(seen[0])


def test_a_search_in_a_fork_waits_for_no_thread_of_its_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Torch's pool of threads is not in the fork: a model that has run on several threads hung there."""
    monkeypatch.setattr(where, "LATEST", 15.0)
    answer = load_lesson(Course(ROOT), "09_modern_llm")["llama-layer"].answer
    source = answer.replace("self.feed_forward(self.norm2(x))", "self.feed_forward(self.norm1(x))")
    assert source != answer
    parts = {each.name: made(each) for each in exercises_of("09_modern_llm")[:2]}
    given = {name: stand_in(name) for name in NEEDS["09_modern_llm"]}
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        card = asked(source, "llama-layer", nn=torch.nn, **given, **parts)
    finally:
        torch.set_num_threads(before)
    assert card.where.startswith("Every example passes with another attribute of `self` in line")


def test_a_change_that_the_visible_test_refuses_does_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A few examples may pass by chance; the saved notebook has the test, as it was released."""
    file = tmp_path / "03_attention.ipynb"
    notebook = nbformat.read(ROOT / "release/03_attention/03_attention.ipynb", as_version=4)
    nbformat.write(notebook, file)
    monkeypatch.setenv("JPY_SESSION_NAME", str(file))
    exercise = next(each for each in exercises_of("03_attention") if each.id == "softmax")
    assert "visible tests pass" in visible_test(exercise, {})
    assert asked(WRONG_AXIS, F=F, math=math).where == "Every example passes with another dimension in line 3."
    monkeypatch.setattr(where, "visible_test", lambda *_: "assert softmax is None")
    assert asked(WRONG_AXIS).where == where.NOTHING
