"""Lesson 4 as its author writes it: its visible tests bite, and its model answers are right."""

from typing import Any

import pytest
import torch
from torch import nn

from autograder.model.lesson_text import CellKind

from .lessons import LESSONS

LESSON = LESSONS["04_multi_head_attention"]


@pytest.fixture(scope="module")
def answers() -> dict[str, Any]:
    """Return what the model answers define, after passing their own visible tests."""
    return LESSON.run()


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("split-heads", "x.view(batch, length, num_heads, d_model // num_heads)",
         "x.view(batch, num_heads, length, d_model // num_heads).transpose(1, 2)"),
        ("split-heads", "x.transpose(1, 2)", "x"),
        ("merge-heads", "x = x.transpose(1, 2)", "pass"),
        ("merge-heads", "x.reshape(batch, length, num_heads * width)", "x.mean(2)"),
        ("multi-head-attention", "merge_heads(mixed)", "mixed.reshape(query.shape)"),
        ("multi-head-attention", "mask = mask.unsqueeze(1)", "pass"),
        ("multi-head-attention", "(q, k, v, mask)", "(q, k, v)"),
        ("multi-head-attention", "if d_model % num_heads != 0", "if False"),
        ("multi-head-attention", "return output, weights", "return output, weights.mean(1)"),
        ("load-from-torch", "w_q, w_k, w_v = ", "w_k, w_q, w_v = "),
        ("load-from-torch", "mine.w_o.weight.copy_(theirs.out_proj.weight)", "mine.w_o.weight = theirs.out_proj.weight"),
        ("load-from-torch", "mine.w_v.bias.copy_(b_v)", "pass"),
        ("multi-head-attention", "split_heads(self.w_q(query), self.num_heads)",
         "split_heads(self.w_q(query).flip(-1), self.num_heads)"),
        ("multi-head-attention", "self.dropout(weights)", "weights"),
        ("multi-head-attention", "self.dropout(weights) @ v", "self.dropout(weights @ v)"),
        ("multi-head-attention", "self.dropout(weights) @ v", "weights @ self.dropout(v)"),
        ("multi-head-attention", "self.dropout(weights)", "F.dropout(weights, 0.5)"),
        ("load-from-bert", "ours.bias.copy_(bert_layer.bias)", "pass"),
        ("load-from-bert", "(mine.w_k, theirs.self.key)", "(mine.w_k, theirs.self.value)"),
        ("load-from-bert", "ours.weight.copy_(bert_layer.weight)", "ours.weight.data = bert_layer.weight.data"),
        ("parameter-count", " + d_model", ""),
        ("head-shapes", '"merged": (4, 5, 6)', '"merged": None'),
    ],
)  # fmt: skip
def test_visible_tests_bite(name: str, old: str, new: str) -> None:
    """A typical mistake is caught by the tests a student can see."""
    with pytest.raises(AssertionError):
        LESSON.run({name: (old, new)}, until=name)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_model_answer_agrees_with_torch(answers: dict[str, Any], dtype: torch.dtype) -> None:
    """With copied weights, output and weights equal nn.MultiheadAttention's under any kind of mask."""
    torch.manual_seed(0)
    theirs = nn.MultiheadAttention(12, 3, batch_first=True).to(dtype)
    nn.init.normal_(theirs.in_proj_bias)
    mine = answers["MultiHeadAttention"](12, 3).to(dtype)
    answers["load_from_torch"](mine, theirs)
    q, k, v = (torch.randn(3, length, 12, dtype=dtype) for length in (5, 7, 7))
    for shape in ((5, 7), (3, 1, 7), (3, 5, 7)):
        mask = torch.rand(shape) < 0.5
        mask[..., 0] = True
        hidden = ~mask.expand(3, 5, 7).repeat_interleave(3, dim=0)
        expected = theirs(q, k, v, attn_mask=hidden, average_attn_weights=False)
        for got, want in zip(mine(q, k, v, mask), expected, strict=True):
            torch.testing.assert_close(got, want)


def test_model_answer_gives_the_bias_where_nothing_may_be_read(answers: dict[str, Any]) -> None:
    """An empty row has zero weights, its output is the bias of w_o, and gradients stay finite."""
    layer = answers["MultiHeadAttention"](6, 2)
    mask = torch.tensor([[True, False], [False, False]])
    output, weights = layer(*(torch.randn(3, 2, 6) for _ in range(3)), mask)
    assert torch.all(weights[:, :, 1] == 0)
    torch.testing.assert_close(output[:, 1], layer.w_o.bias.expand(3, 6))
    output.sum().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in layer.parameters())


def test_the_lesson_says_whose_attention_it_uses(capsys: pytest.CaptureFixture[str]) -> None:
    """The setup cell prints one line about it."""
    exec(next(cell.text for cell in LESSON.cells if cell.kind is CellKind.SETUP), {})
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("scaled_dot_product_attention: ")
