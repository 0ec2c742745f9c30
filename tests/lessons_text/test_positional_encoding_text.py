"""Lesson 2 as its author writes it: its visible tests bite, and its model answers are right."""

from typing import Any

import pytest
import torch

from autograder.model.lesson_text import CellKind

from .lesson_run import ROOT
from .lessons import LESSONS

LESSON = LESSONS["02_positional_encoding"]


@pytest.fixture(scope="module")
def answers() -> dict[str, Any]:
    """Return what the model answers define, after passing their own visible tests."""
    return LESSON.run()


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
        LESSON.run({name: (old, new)}, until=name)


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
    demos = [cell.text for cell in LESSON.cells if cell.kind in (CellKind.DEMO, CellKind.SETUP)]
    assert not [
        text for text in [plots, *demos] if "10000 **" in text or "arange(0, d_model, 2)" in text
    ]
