"""What lessons 7 and 8 show besides training: a diagram, traced tensors, broken and silenced attention."""

import shutil
from collections.abc import Callable
from typing import Any

import pytest
import torch

from coursework import broken_decoders, head_ablation, language
from coursework.broken_decoders import HeadsMixedUp
from coursework.stand_ins import MultiHeadAttention
from coursework.stand_ins_models import Transformer
from coursework.tracing import draw_model, trace


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


def _transformer() -> Transformer:
    torch.manual_seed(0)
    return Transformer(11, 13, 8, num_heads=4, num_layers=1, d_ff=12, dropout=0.0).eval()


def test_fourteen_tensors_are_recorded_and_no_hook_is_left() -> None:
    """Shapes of the figure, for S = 5 and T = 3; the mode of the model stays."""
    model = _transformer().train()
    src, fed = torch.tensor([[5, 4, 9, 2, 0]]), torch.tensor([[1, 7, 12]])
    seen = trace(model, src, fed)
    shapes = [tuple(tensor.shape)[1:] for tensor in seen.values()]
    assert shapes == [
        (5,), (5, 8), (4, 5, 5), (5, 8), (5, 12), (5, 8),
        (3,), (3, 8), (4, 3, 3), (4, 3, 5), (3, 8), (3, 12), (3, 13), (3, 13),
    ]  # fmt: skip
    assert model.training
    assert not any(part._forward_hooks for part in model.modules())


@pytest.mark.parametrize(
    ("change", "reach"),
    [(broken_decoders.without_causal_mask, 3), (broken_decoders.one_step_too_far, 1),
     (lambda model: model, 0)],
)  # fmt: skip
def test_broken_masks_see_as_far_as_they_should(change: Callable[[Any], Any], reach: int) -> None:
    """The last token of four moves the logits of `reach` positions before it."""
    model = change(_transformer())
    src, one = torch.tensor([[5, 4, 2]]), torch.tensor([[1, 7, 12, 5]])
    other = one.clone()
    other[0, 3] = 6
    moved = (model(src, one) - model(src, other)).abs().amax(dim=-1)[0] > 1e-6
    assert moved.tolist() == [place >= 3 - reach for place in range(4)]


def test_a_silenced_head_gives_its_mean_and_the_model_is_as_it_was() -> None:
    """With every head silenced the output is the same everywhere: the mean of what it was. One head leaves more."""
    model = _transformer()
    kept = {name: value.clone() for name, value in model.state_dict().items()}
    src, tgt = torch.tensor([[5, 4, 9, 2], [6, 2, 0, 0]]), torch.tensor([[1, 7, 12], [1, 5, 0]])
    places = list(head_ablation.heads(model))
    assert places[0] == ("encoder", 0, 0)
    assert len(places) == 12
    means = head_ablation.mean_outputs(model, src, tgt)
    heard: list[torch.Tensor] = []
    whole = model.encoder.layers[0].self_attention
    hook = whole.register_forward_hook(lambda _module, _arguments, result: heard.append(result[0]))
    model(src, tgt)
    hook.remove()
    mean = heard[0][src != 0].mean(dim=0)  # (D,)
    silent = head_ablation.without(model, "encoder", 0, range(4), means).encoder.layers[0].self_attention
    x = torch.randn(1, 4, 8)
    torch.testing.assert_close(silent(x, x, x)[0], mean.expand(1, 4, 8))
    one = head_ablation.without(model, "encoder", 0, [2], means).encoder.layers[0].self_attention
    assert not torch.allclose(one(x, x, x)[0], whole(x, x, x)[0])
    assert torch.equal(one.w_o.weight[:, :4], whole.w_o.weight[:, :4])
    assert all(torch.equal(value, kept[name]) for name, value in model.state_dict().items())
    assert not any(part._forward_pre_hooks for part in model.modules())


def test_the_decoder_that_is_fed_its_target_learns_to_copy_it() -> None:
    """The input of the decoder is the target itself, and the loss falls."""
    model = _transformer()
    fed: list[torch.Tensor] = []
    model.decoder.register_forward_pre_hook(lambda _module, arguments: fed.append(arguments[0]))
    src, tgt = torch.tensor([[5, 4, 9, 2]]), torch.tensor([[7, 12, 5, 2, 0]])
    adam = torch.optim.Adam(model.parameters(), lr=0.01)
    losses = [broken_decoders.unshifted_step(model, src, tgt, adam) for _ in range(20)]
    assert torch.equal(fed[0], tgt)
    assert losses[-1] < losses[0]


def test_baselines_are_of_words_alone() -> None:
    """Two words that alternate: known to a bigram, two choices to a unigram; separators don't count."""
    words = language.prepare("red blue " * 500, max_size=20, share=0.5)
    assert [words.vocabulary[place] for place in language.counted(words).nonzero().flatten()] == ["red", "blue"]
    assert language.unigram_perplexity(words) == pytest.approx(2.0, abs=0.01)
    assert language.bigram_perplexity(words, weight=1.0) == pytest.approx(1.0, abs=0.01)
