"""Lesson 8 as its author writes it: its visible tests bite."""

from collections.abc import Iterator

import matplotlib.pyplot as plt
import pytest

from .lesson_run import BITES
from .lessons import LESSONS

LESSON = LESSONS["08_attention_visualisation"]


@pytest.fixture(autouse=True)
def _pictures_are_closed() -> Iterator[None]:
    """No test leaves a picture behind."""
    yield
    plt.close("all")


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("attention-maps", "result[1][0].detach()", "result[0][0].detach()"),
        ("attention-maps", "result[1][0].detach()", "result[1].detach()"),
        ("attention-maps", "result[1][0].detach()", "result[1][0].mean(0).detach()"),
        ("attention-maps", "hook.remove()", "pass"),
        ("attention-maps", "model.train(was_training)", "pass"),
        ("attention-maps", "model.eval()", "pass"),
        ("attention-maps", "[layer.cross_attention for", "[layer.self_attention for"),
        ("attention-maps", "model(src, tgt)", "model.decoder(tgt, model.encoder(src))"),
        ("attention-maps", "torch.stack(weights)", "weights"),
        ("attention-maps", "torch.stack(weights)", "torch.stack(weights[::-1])"),
        ("attention-maps", "torch.stack(weights)", "torch.stack([weights[-1]] * len(weights))"),
        ("plot-attention", "vmin=0, vmax=1, ", ""),
        ("plot-attention", "xticklabels=keys, yticklabels=queries", "xticklabels=queries, yticklabels=keys"),
        ("plot-attention", "xticklabels=keys, ", ""),
        ("plot-attention", "weights.detach()", "weights.T.detach()"),
        ("plot-attention", "if ax is None:", "if True:"),
        ("plot-attention", "    return ax", "    pass"),
        ("plot-attention", "ax=ax, ", ""),
        ("plot-attention", "    return ax", "    ax.invert_yaxis()\n    return ax"),
        ("sentence-pair-attention", "torch.cat(output.attentions)", "output.attentions"),
        ("sentence-pair-attention", "torch.cat(output.attentions)", "output.attentions[-1]"),
        ("sentence-pair-attention", "torch.cat(output.attentions)", "torch.stack(output.attentions)"),
        ("sentence-pair-attention", ".index(1)", ".index(1) - 1"),
        ("sentence-pair-attention", 'encoding["token_type_ids"][0].tolist().index(1)', "len(a.split()) + 1"),
        ("sentence-pair-attention", 'encoding["token_type_ids"][0].tolist().index(1)', "len(a.split()) + 2"),
        ("sentence-pair-attention", "model(**encoding", 'model(encoding["input_ids"]'),
        ("previous-token-score", "offset=-1", "offset=1"),
        ("previous-token-score", "offset=-1", "offset=0"),
        ("previous-token-score", ".mean(dim=-1)", ".sum(dim=-1) / attentions.size(-1)"),
        ("previous-token-score", ".mean(dim=-1)", ".mean(dim=(0, 2))"),
        ("attention-entropy", "torch.where(weights > 0, weights, 1.0).log()", "weights.log()"),
        ("attention-entropy", "return -(", "return ("),
        ("attention-entropy", ".log()", ".log2()"),
        ("attention-entropy", ".sum(dim=-1)", ".mean(dim=-1)"),
        ("attention-entropy", ".sum(dim=-1)", ".sum(dim=-2)"),
        ("attention-rollout", "mixed @ rollout", "rollout @ mixed"),
        ("attention-rollout", "0.5 * layer.mean(dim=0) + 0.5 * identity", "layer.mean(dim=0)"),
        ("attention-rollout", "mixed = mixed / mixed.sum(dim=-1, keepdim=True)", "pass"),
        ("attention-rollout", "mixed.sum(dim=-1, keepdim=True)", "mixed.sum(dim=-2, keepdim=True)"),
        ("attention-rollout", "in attentions:", "in attentions[-1:]:"),
        ("attention-rollout", "layer.mean(dim=0)", "layer[0]"),
        ("best-span", ".triu().tril(max_length - 1)", ".tril(max_length - 1)"),
        ("best-span", ".tril(max_length - 1)", ".tril(max_length)"),
        ("best-span", ".tril(max_length - 1)", ""),
        ("best-span", "-math.inf", "0"),
        ("best-span", "start_logits[:, None]", "9 * start_logits[:, None]"),
        ("best-span", "start, end = divmod", "end, start = divmod"),
        ("silence-head", "weight[:, own] = 0", "weight[own] = 0"),
        ("silence-head", "weight[:, own] = 0", "weight.zero_()"),
        ("silence-head", "attention.w_o.weight[:, own] = 0", "pass"),
        ("silence-head", "attention.w_o.weight.copy_(kept)", "pass"),
        ("silence-head", ".detach().clone()", ".detach()"),
        ("silence-head", "w_o.weight.copy_(kept)", "w_o.weight.requires_grad_(False).copy_(kept)"),
    ],
)  # fmt: skip
def test_visible_tests_bite(name: str, old: str, new: str) -> None:
    """A typical mistake is caught by the tests a student can see."""
    with pytest.raises(BITES):
        LESSON.run({name: (old, new)}, until=name)
