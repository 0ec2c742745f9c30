"""Lesson 3 as its author writes it: its visible tests bite, and its model answers are right."""

from typing import Any

import pytest
import torch
import torch.nn.functional as F

from .lessons import LESSONS

LESSON = LESSONS["03_attention"]


@pytest.fixture(scope="module")
def answers() -> dict[str, Any]:
    """Return what the model answers define, after passing their own visible tests."""
    return LESSON.run()


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
        ("attention-cost", "(d_k + d_v)", "d_k"),
        ("attention-cost", "(d_k + d_v), pairs", "(d_k + d_v), pairs * d_k"),
    ],
)  # fmt: skip
def test_visible_tests_bite(name: str, old: str, new: str) -> None:
    """A typical mistake is caught by the tests a student can see."""
    with pytest.raises(AssertionError):
        LESSON.run({name: (old, new)}, until=name)


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
