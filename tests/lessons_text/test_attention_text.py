"""Lesson 3 as its author writes it: it holds the contract, and its visible tests bite."""

import re
from pathlib import Path
from typing import Any

import jupytext
import pytest
import torch
import torch.nn.functional as F

ROOT = Path(__file__).resolve().parents[2]
TEXT = ROOT / "source" / "03_attention.py"
POINTS = {
    "softmax": 2, "attention-scores": 3, "causal-mask": 2, "padding-mask": 2,
    "scaled-dot-product-attention": 5, "self-attention-head": 4, "attention-shapes": 2,
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


@pytest.mark.parametrize("name", [n for n in POINTS if n != "attention-shapes"])
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
        ("softmax", "x - x.amax(dim=dim, keepdim=True)", "x"),
        ("softmax", "exponentials.sum(dim=dim, keepdim=True)", "exponentials.sum()"),
        ("attention-scores", " / math.sqrt(k.size(-1))", ""),
        ("attention-scores", "q @ k.transpose(-2, -1)", "k @ q.transpose(-2, -1)"),
        ("causal-mask", ".tril()", ".triu()"),
        ("padding-mask", "ids != pad_id", "ids == pad_id"),
        ("padding-mask", ".unsqueeze(1)", ""),
        ("scaled-dot-product-attention", "softmax(scores, dim=-1)", "softmax(scores, dim=-2)"),
        ("scaled-dot-product-attention", " weights = weights.masked", " weights.masked"),
        ("scaled-dot-product-attention", "return output, weights", "return output"),
        ("self-attention-head", "(q, k, v, mask)", "(q, k, v)"),
        ("self-attention-head", "(q, k, v, mask)", "(q, k, x, mask)"),
        ("attention-shapes", '"v": (4, 9, 10)', '"v": None'),
    ],
)  # fmt: skip
def test_visible_tests_bite(name: str, old: str, new: str) -> None:
    """A typical mistake is caught by the tests a student can see."""
    with pytest.raises(AssertionError):
        run({name: (old, new)}, until=name)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_model_answer_agrees_with_torch(answers: dict[str, Any], dtype: torch.dtype) -> None:
    """Attention equals F.scaled_dot_product_attention, empty rows and leading dimensions included."""
    attention = answers["scaled_dot_product_attention"]
    torch.manual_seed(0)
    for lead in ((), (2,), (2, 3)):
        q, k = torch.randn(*lead, 5, 8, dtype=dtype), torch.randn(*lead, 7, 8, dtype=dtype)
        v = torch.randn(*lead, 7, 3, dtype=dtype)
        mask = torch.rand(5, 7) < 0.5
        mask[2] = False
        output, weights = attention(q, k, v, mask)
        torch.testing.assert_close(output, F.scaled_dot_product_attention(q, k, v, attn_mask=mask))
        assert torch.all(weights[..., 2, :] == 0)


def test_model_answer_has_finite_gradients_at_empty_rows(answers: dict[str, Any]) -> None:
    """A query that may attend to nothing does not poison the others' gradients."""
    q, k, v = (torch.randn(3, 4, requires_grad=True) for _ in range(3))
    mask = torch.tensor([[True, True, False], [False, False, False], [True, True, True]])
    answers["scaled_dot_product_attention"](q, k, v, mask)[0].sum().backward()
    assert all(part.grad is not None and part.grad.isfinite().all() for part in (q, k, v))


def test_model_softmax_is_safe_row_by_row(answers: dict[str, Any]) -> None:
    """Rows that lie 20 000 apart, and entries of −∞, come out as PyTorch's own."""
    x = torch.tensor([[1e4, 1e4 - 1, -torch.inf], [-1e4, -1e4 - 1, -1e4]])
    torch.testing.assert_close(answers["softmax"](x), torch.softmax(x, dim=-1))
    torch.testing.assert_close(answers["softmax"](x.T, dim=0), torch.softmax(x.T, dim=0))
