"""Mistakes are named where the evidence carries it, and not where it does not."""

from collections.abc import Callable
from pathlib import Path

import pytest

from autograder.grading.grader import Grader

HandIn = Callable[..., Path]

ATTENTION = """
def scaled_dot_product_attention(q, k, v, mask=None):
    s = q @ k.mT{scale}
    if mask is not None:
        s = {hide}
    w = torch.softmax(s, {dim})
    return w @ v, w
"""
ROOT = " / q.size(-1) ** 0.5"


@pytest.mark.parametrize(
    ("cell", "named"),
    [
        (
            ATTENTION.format(scale="", hide="s.masked_fill(mask, float('-inf'))", dim=-1),
            {"scale-missing", "mask-inverted"},
        ),
        (
            ATTENTION.format(scale=ROOT, hide="s + (1 - mask.float()) * -1e9", dim=1),
            {"softmax-over-dim-1", "empty-row-uniform"},
        ),
        (
            ATTENTION.format(scale=ROOT, hide="s.masked_fill(mask == 0, -1e9)", dim=-1),
            {"empty-row-uniform"},
        ),
        (
            ATTENTION.format(scale=ROOT + ROOT, hide="s * mask", dim=-1),
            {"scaled-twice", "mask-multiplied"},
        ),
    ],
)
def test_code_of_another_hand_is_diagnosed(
    cell: str, named: set[str], grader: Grader, hand_in: HandIn
) -> None:
    """What counts is what the code does: one mistake or two, written in any way."""
    report = grader.grade(
        "03_attention", hand_in("03_attention", scaled_dot_product_attention=cell)
    ).report
    told = report.exercise("scaled-dot-product-attention")
    assert {mistake.id for mistake in told.misconceptions} == named


def test_a_mistake_nobody_knows_is_described_but_not_named(grader: Grader, hand_in: HandIn) -> None:
    """Without a match there is no name, but a sentence on what is wrong."""
    cell = "def softmax(x, dim=-1):\n    e = (x - x.amax(dim, True)).exp()\n    return e / (e.sum(dim, True) + 0.1)"
    told = grader.grade("03_attention", hand_in("03_attention", softmax=cell)).report.exercise(
        "softmax"
    )
    assert told.misconceptions == []
    assert "should sum to 1" in told.checks[0].message


def test_each_wrong_entry_is_explained_for_itself(grader: Grader, hand_in: HandIn) -> None:
    """Wrong choices are named one by one; a missing key costs itself; any form of a shape counts."""
    cell = (
        "answers = {'q': [4, 6, 16], 'k': torch.Size([4, 9, 16]), 'v': (4, 9, 10), 'scores': (4, 9, 6),"
        " 'value_vectors': 6, 'why_scale': 'c', 'other_score': ' A ', 'conditions': 'D'}"
    )
    told = grader.grade(
        "03_attention", hand_in("03_attention", attention_shapes=cell)
    ).report.exercise("attention-shapes")
    assert [check.id for check in told.failures] == ["scores", "output", "value-vectors"]
    assert {mistake.id for mistake in told.misconceptions} == {"scores-by-key", "value-a-query"}
    assert told.score == 1.25
