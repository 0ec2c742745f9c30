"""Lesson 7 as its author writes it: its visible tests bite."""

import pytest

from .lesson_run import BITES
from .lessons import LESSONS

LESSON = LESSONS["07_transformer"]


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("transformer", "(tgt, memory, self_mask, memory_mask)", "(tgt, memory, self_mask)"),
        ("transformer", "(tgt, memory, self_mask, memory_mask)", "(tgt, memory, None, memory_mask)"),
        ("transformer", "self.encoder(src, source_mask)", "self.encoder(src)"),
        ("transformer", "nn.init.xavier_uniform_(parameter)", "nn.init.xavier_normal_(parameter)"),
        ("transformer", "for part in built:", "for part in (encoder, decoder):"),
        ("transformer", "return self.decode(tgt, memory, src)", "return self.decode(tgt, memory, src).softmax(-1)"),
        ("transformer", "(tgt, memory, self_mask, memory_mask)", "(tgt, memory, self_mask, memory_mask).softmax(-1)"),
        ("greedy-decode", "model.eval()", "pass"),
        ("greedy-decode", "torch.no_grad()", "torch.enable_grad()"),
        ("greedy-decode", "ended = ended | (word == eos_id)", "ended = word == eos_id"),
        ("greedy-decode", "if ended.all()", "if ended.any()"),
        ("greedy-decode", "if ended.all()", "if False"),
        ("greedy-decode", "model.train(was_training)", "pass"),
        ("greedy-decode", "return written[:, 1:]", "return written"),
        ("greedy-decode", "model.decode(written, memory, src)", "model.decode(written, model.encode(src), src)"),
        ("greedy-decode", "word = word.masked_fill(ended, model.pad_id)", "pass"),
        ("greedy-decode", "model.decode(written, memory", "model.decode(written[:, -1:], memory"),
        ("greedy-decode", "logits[:, -1]", "logits[:, 0]"),
        ("label-smoothing-loss", "losses[is_real].mean()", "losses.mean()"),
        ("label-smoothing-loss", "log_probabilities.mean(dim=-1)", "log_probabilities.sum(dim=-1)"),
        ("label-smoothing-loss", "losses = -(", "losses = ("),
        ("label-smoothing-loss", "(1 - smoothing) * right", "right"),
        ("label-smoothing-loss", " + smoothing * everywhere", ""),
        ("label-smoothing-loss", "losses[is_real].mean()", "(losses * is_real).sum()"),
        ("label-smoothing-loss", "log_probabilities.mean(dim=-1)",
         "(log_probabilities.sum(dim=-1) - right) / (logits.size(-1) - 1)"),
        ("noam-rate", "min(falling, rising)", "max(falling, rising)"),
        ("noam-rate", "warmup**-1.5", "warmup**-0.5"),
        ("noam-rate", "d_model**-0.5 * ", ""),
        ("transformer", "nn.init.xavier_uniform_(parameter)", "pass"),
        ("train-step", "optimiser.zero_grad()", "pass"),
        ("train-step", "smoothing, model.pad_id", "0.1, model.pad_id"),
        ("language-model", "x = self.position(x)", "pass"),
        ("language-model", "x = layer(x)", "x = self.layers[0](x)"),
        ("train-step", "shift_right(tgt)", "tgt"),
        ("train-step", "model.train()", "pass"),
        ("train-step", "return loss.item()", "return loss"),
        ("train-step", "optimiser.step()", "pass"),
        ("train-step", "model.pad_id)", "-1)"),
        ("train-step", "loss.backward()", "(-loss).backward()"),
        ("language-windows", "(len(ids) - 1) // length", "len(ids) // length"),
        ("language-windows", "ids[1 : used + 1]", "ids[:used]"),
        ("language-windows", "ids[:used].reshape(count, length)", "ids[:used].reshape(length, count).T"),
        ("language-windows", "ids[:used].reshape", "ids[1 : used + 1].reshape"),
        ("language-model", "self.project(self.norm(x))", "self.project(x)"),
        ("language-model", "self.project(self.norm(x))", "self.norm(self.project(x))"),
        ("language-model", "self.layers = nn.ModuleList(layers)", "self.layers = layers"),
        ("language-model", "for _ in range(num_layers)]", "] * num_layers"),
        ("language-model", "x = layer(x)", "layer(x)"),
        ("language-model", "self.project(self.norm(x))", "self.project(self.norm(x)).softmax(-1)"),
        ("sample-next", "scaled = logits / temperature", "scaled = logits * temperature"),
        ("sample-next", "scaled = logits / temperature", "scaled = logits.div_(temperature * 1.01)"),
        ("sample-next", "if temperature == 0:", "if temperature is None:"),
        ("sample-next", "if top_k is not None:", "if False:"),
        ("sample-next", "scaled < smallest", "scaled <= smallest"),
        ("sample-next", "min(top_k, scaled.size(-1))", "top_k"),
        ("sample-next", "if top_p is not None:", "if False:"),
        ("sample-next", "ordered.cumsum(dim=-1) - ordered", "ordered.cumsum(dim=-1)"),
        ("sample-next", "ordered.cumsum(dim=-1) - ordered  #", "(ordered.cumsum(dim=-1) - ordered) * 0.5  #"),
        ("sample-next", ".squeeze(-1)", ""),
        ("shape-trace", '"memory": (3, 9, 48)', '"memory": (9, 3, 48)'),
        ("shape-trace", '"logits": (3, 6, 90)', '"logits": [3, 6.0, 90]'),
    ],
)  # fmt: skip
def test_visible_tests_bite(name: str, old: str, new: str) -> None:
    """A typical mistake is caught by the tests a student can see."""
    with pytest.raises(BITES):
        LESSON.run({name: (old, new)}, until=name)
