"""What lesson 7 shows beside training: a diagram where there can be one, and heads put together wrongly."""

import shutil

import pytest
import torch

from coursework.broken_decoders import HeadsMixedUp
from coursework.graph import draw_model
from coursework.stand_ins import MultiHeadAttention


def test_without_graphviz_a_line_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """No diagram, no error: one line names what is missing."""
    monkeypatch.setattr(shutil, "which", lambda _name: None)
    assert draw_model(torch.nn.Linear(2, 2), [torch.zeros(1, 2)]) is None
    assert "graphviz" in capsys.readouterr().out


def test_with_graphviz_there_is_a_diagram(monkeypatch: pytest.MonkeyPatch) -> None:
    """The diagram names the modules of the model, and fits the page."""
    monkeypatch.setattr(shutil, "which", lambda name: f"/bin/{name}")
    drawn = draw_model(torch.nn.Linear(2, 3), [torch.zeros(1, 2)])
    assert "Linear" in drawn.source
    assert "size=" in drawn.source


def test_heads_without_transpose_leak_the_future_under_a_right_mask() -> None:
    """The mask hides the last token, and yet earlier outputs move when it changes; in a right one none do."""
    torch.manual_seed(0)
    right = MultiHeadAttention(8, 2)
    broken = HeadsMixedUp(right, 2)
    mask = torch.ones(1, 6, 6, dtype=torch.bool).tril()
    x = torch.randn(1, 6, 8)
    other = x.clone()
    other[:, -1] += 1
    for attention, leaks in ((right, False), (broken, True)):
        before, after = (attention(y, y, y, mask)[0][:, :-1] for y in (x, other))
        assert torch.allclose(before, after, atol=1e-6) is not leaks
    weights = (attention(x, x, x, mask)[1] for attention in (right, broken))
    torch.testing.assert_close(*weights)
