"""A right answer in an unusual form passes: the judge looks at results, not at code."""

from collections.abc import Callable
from pathlib import Path

import pytest

from autograder.grading.grader import Grader

HandIn = Callable[..., Path]

SOFTMAX_BY_LOGS = """
import numpy as np
def softmax(x, dim=-1):
    print("a stray print")
    import warnings; warnings.warn("a stray warning")
    return (x - torch.logsumexp(x, dim=dim, keepdim=True)).exp()
"""
SCORES_BY_LOOPS = """
def attention_scores(q, k):
    flat_q, flat_k = q.reshape(-1, *q.shape[-2:]), k.reshape(-1, *k.shape[-2:])
    rows = [torch.stack([torch.stack([(a * b).sum() for b in ks]) for a in qs]) for qs, ks in zip(flat_q, flat_k)]
    return torch.stack(rows).reshape(*q.shape[:-1], k.size(-2)) * q.size(-1) ** -0.5
"""
MASK_BY_LOOPS = """
def causal_mask(size):
    return torch.tensor([[j <= i for j in range(size)] for i in range(size)])
"""
ATTENTION_BY_EINSUM = """
def scaled_dot_product_attention(q, k, v, mask=None):
    s = torch.einsum("...qd,...kd->...qk", q, k) / q.shape[-1] ** 0.5
    if mask is not None:
        s = torch.where(mask, s, torch.tensor(-1e9, dtype=s.dtype))
    w = torch.exp(s - s.max(dim=-1, keepdim=True).values)
    if mask is not None:
        w = w * mask
    total = w.sum(-1, keepdim=True)
    w = w / torch.where(total == 0, torch.ones_like(total), total)
    return [torch.einsum("...qk,...kd->...qd", w, v), w]
"""
HEAD_WITH_EXTRAS = """
class SelfAttentionHead(nn.Module):
    def __init__(self, d_model, d_k=None):
        super().__init__()
        width = d_k or d_model
        self.register_buffer("scale", torch.tensor(float(width)))
        self.w_q = nn.Linear(d_model, width); self.w_k = nn.Linear(d_model, width)
        self.w_v = nn.Linear(d_model, d_model)
        self.parts = nn.ModuleList([self.w_q, self.w_k, self.w_v])
    def forward(self, x, mask=None):
        return helper(self.w_q(x), self.w_k(x), self.w_v(x), mask)

def helper(q, k, v, mask):
    return scaled_dot_product_attention(q, k, v, mask)[0]
"""


@pytest.mark.parametrize(
    ("exercise", "cell"),
    [
        ("softmax", SOFTMAX_BY_LOGS),
        ("attention_scores", SCORES_BY_LOOPS),
        ("causal_mask", MASK_BY_LOOPS),
        ("scaled_dot_product_attention", ATTENTION_BY_EINSUM),
        ("self_attention_head", HEAD_WITH_EXTRAS),
    ],
)
def test_unusual_forms_pass(exercise: str, cell: str, grader: Grader, hand_in: HandIn) -> None:
    """Logs, loops, einsum, −1e9, helpers, prints and warnings: full marks all the same."""
    report = grader.grade("03_attention", hand_in("03_attention", **{exercise: cell})).report
    told = report.exercise(exercise.replace("_", "-"))
    assert told.failures == []
    assert report.score == 20


def test_a_changed_default_dtype_or_seed_does_no_harm(grader: Grader, hand_in: HandIn) -> None:
    """What a cell sets for its whole process is undone before an answer is tried."""
    tail = "\ntorch.set_default_dtype(torch.float64)\ntorch.manual_seed(1)\ntorch.set_grad_enabled(False)\n"
    path = hand_in("03_attention", softmax=lambda answer: answer + tail)
    assert grader.grade("03_attention", path).report.score == 20


def test_magics_input_and_breakpoints_do_no_harm(grader: Grader, hand_in: HandIn) -> None:
    """A magic that is not there, a question to the user and a forgotten breakpoint cost nothing."""
    head = "%matplotlib widget\n!pip install nothing\n"
    path = hand_in(
        "03_attention", softmax=lambda answer: head + answer + "\nbreakpoint()\ninput('?')\n"
    )
    assert grader.grade("03_attention", path).report.score == 20


def test_the_library_is_not_an_answer(grader: Grader, hand_in: HandIn) -> None:
    """Calling torch's softmax under any name earns nothing, and the student is told why."""
    cell = "from torch.nn.functional import softmax as borrowed\ndef softmax(x, dim=-1):\n    return borrowed(x, dim)"
    told = grader.grade("03_attention", hand_in("03_attention", softmax=cell)).report.exercise(
        "softmax"
    )
    assert told.score == 0
    assert told.checks[0].message == "`torch.softmax` is excluded in this exercise. Build it from `exp` and `sum`."
