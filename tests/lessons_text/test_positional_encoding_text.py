"""Lesson 2 as its author writes it: it holds the contract, and its visible tests bite."""

import re
from pathlib import Path
from typing import Any

import jupytext
import pytest
import torch

ROOT = Path(__file__).resolve().parents[2]
TEXT = ROOT / "source" / "02_positional_encoding.py"
POINTS = {
    "sinusoidal-encoding": 5, "positional-encoding": 5, "shift-matrix": 4, "learned-position": 4,
    "position-choices": 2,
}  # fmt: skip
REGION = re.compile(r"### BEGIN SOLUTION.*?### END SOLUTION", re.DOTALL)
CELLS = [(cell.metadata.get("title", ""), cell) for cell in jupytext.read(TEXT).cells]


def source(title: str) -> str:
    """Return the source of the one cell with this title."""
    (found,) = [cell.source for name, cell in CELLS if name == title]
    return str(found)


def run(edits: dict[str, tuple[str, str]] | None = None, until: str = "") -> dict[str, Any]:
    """Run setup, answers and visible tests up to the test of `until`, with answers edited."""
    scope: dict[str, Any] = {}
    exec(source("setup"), scope)
    for name, points in POINTS.items():
        old, new = (edits or {}).get(name, ("", ""))
        answer = source(f"solution {name}")
        assert old in answer, f"the answer to {name} no longer contains {old!r}"
        exec(answer.replace(old, new) if old else answer, scope)
        exec(source(f"test {name} {points}"), scope)
        if name == until:
            break
    return scope


@pytest.fixture(scope="module")
def answers() -> dict[str, Any]:
    """Return what the model answers define, after passing their own visible tests."""
    return run()


def test_exercises_come_in_the_contracts_order_with_its_points() -> None:
    """Every solution is followed by its test, and they add up to 20 points."""
    graded = [title for title, _ in CELLS if title.startswith(("solution", "test"))]
    expected = [t for name, p in POINTS.items() for t in (f"solution {name}", f"test {name} {p}")]
    assert graded == expected
    assert sum(POINTS.values()) == 20


def test_every_test_is_followed_by_folded_hints() -> None:
    """After each test come two or three hints, from a nudge on, folded away."""
    following = [CELLS[i + 1][1] for i, (t, _) in enumerate(CELLS) if t.startswith("test")]
    assert all(2 <= cell.source.count("<details><summary>Hint") <= 3 for cell in following)


def test_every_figure_exists_and_can_be_read_aloud() -> None:
    """Each picture is there, with alt text that says what it shows."""
    found = re.findall(r"!\[(.*?)\]\((images/.*?)\)", TEXT.read_text(encoding="utf-8"))
    assert len(found) == 4
    for alt, path in found:
        assert len(alt) > 80, path
        assert (ROOT / path).is_file(), path


@pytest.mark.parametrize("name", [n for n in POINTS if n != "position-choices"])
def test_skeletons_run_and_give_nothing_away(name: str) -> None:
    """Without its solution a cell still defines its name, and says nothing of the answer."""
    blank = REGION.sub("raise NotImplementedError()", source(f"solution {name}"))
    assert "SOLUTION" not in blank
    with pytest.raises(NotImplementedError):
        exec(source(f"test {name} {POINTS[name]}"), _with_blank(name, blank))


def _with_blank(name: str, blank: str) -> dict[str, Any]:
    """Return what the answers before `name` define, and the blank cell after them."""
    scope: dict[str, Any] = {}
    exec(source("setup"), scope)
    for other in list(POINTS)[: list(POINTS).index(name)]:
        exec(source(f"solution {other}"), scope)
    exec(blank, scope)
    return scope


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("sinusoidal-encoding", "0, d_model, 2) / d_model", "0, 2 * d_model, 4) / d_model"),
        ("sinusoidal-encoding", "torch.cos(angles)", "torch.cos(angles * 1.1)"),
        ("sinusoidal-encoding", "torch.arange(max_len)", "torch.arange(1, max_len + 1)"),
        ("sinusoidal-encoding", "raise ValueError", "print"),
        ("positional-encoding", "self.pe[:length]", "self.pe[length - 1]"),
        ("positional-encoding", "length = x.size(1)", "length = x.size(0)"),
        ("positional-encoding", "x = x +", "x +="),
        ("positional-encoding", "return self.dropout(x)", "return x"),
        ("positional-encoding", "> self.pe.size(0)", "> 1000"),
        ("shift-matrix", "-torch.sin(angles)", "torch.sin(angles)"),
        ("shift-matrix", "(even / d_model)", "(2 * even / d_model)"),
        ("learned-position", "nn.Embedding(max_len, d_model)", "nn.Embedding(d_model, max_len)"),
        ("learned-position", "self.embed(positions)", "self.embed(positions).detach()"),
        ("learned-position", "torch.arange(length", "torch.arange(1, length + 1"),
        ("position-choices", '"two_halves": "B"', '"two_halves": None'),
    ],
)  # fmt: skip
def test_visible_tests_bite(name: str, old: str, new: str) -> None:
    """A typical mistake is caught by the tests a student can see."""
    with pytest.raises((AssertionError, RuntimeError)):  # a wrong shape may not add up
        run({name: (old, new)}, until=name)


def test_model_table_agrees_with_float64(answers: dict[str, Any]) -> None:
    """At position 300 the float32 table is off by no more than rounding."""
    exact = (
        torch.arange(301, dtype=torch.float64)[:, None]
        / 10000 ** (torch.arange(0, 64, 2) / 64).double()
    )
    found = answers["sinusoidal_encoding"](301, 64)
    torch.testing.assert_close(found[:, 0::2], exact.sin().float(), atol=2e-4, rtol=0)
    torch.testing.assert_close(found[:, 1::2], exact.cos().float(), atol=2e-4, rtol=0)


def test_model_shift_is_a_rotation(answers: dict[str, Any]) -> None:
    """It leaves lengths alone, and two moves are one longer move."""
    shift = answers["shift_matrix"]
    torch.testing.assert_close(shift(9, 8) @ shift(9, 8).T, torch.eye(8))
    torch.testing.assert_close(shift(4, 8) @ shift(-11, 8), shift(-7, 8))


def test_demos_do_not_give_the_formula_away() -> None:
    """Neither a demo nor the plots compute 10000 to the power of 2i / d_model."""
    plots = (ROOT / "coursework" / "position_plots.py").read_text(encoding="utf-8")
    demos = [cell.source for title, cell in CELLS if title.startswith(("demo", "setup"))]
    assert not [
        text for text in [plots, *demos] if "10000 **" in text or "arange(0, d_model, 2)" in text
    ]


def test_prose_needs_no_script_to_show_a_formula() -> None:
    """Formulas are text: a page without network shows them."""
    assert not [cell for _, cell in CELLS if cell.cell_type == "markdown" and "$$" in cell.source]
