"""Lesson 6 as its author writes it: its visible tests bite."""

import pytest

from .lesson_run import BITES
from .lessons import LESSONS

LESSON = LESSONS["06_decoder"]


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("shift-right", "target[:, :-1]", "target"),
        ("shift-right", "target[:, :-1]", "target[:, 1:]"),
        ("shift-right", "sos_id)  #", "1)  #"),
        ("shift-right", "torch.full_like(target[:, :1], sos_id)", "torch.full((len(target), 1), float(sos_id))"),
        ("shift-right", "start = ", "target[:, 1:], start = target[:, :-1].clone(), "),
        ("target-mask", "causal & real", "causal | real"),
        ("target-mask", "causal & real", "causal & real & real.mT"),
        ("target-mask", "causal & real", "causal.mT & real"),
        ("target-mask", "causal & real", "causal.expand(len(ids), -1, -1)"),
        ("target-mask", "ids.size(1)", "ids.size(0)"),
        ("target-mask", "padding_mask(ids, pad_id)", "padding_mask(ids)"),
        ("decoder-layer", "self.cross_attention(x, memory, memory", "self.cross_attention(x, memory, x"),
        ("decoder-layer", "self.cross_attention(x, memory, memory", "self.cross_attention(memory, x, x"),
        ("decoder-layer", "self.cross_attention(x, memory, memory, memory_mask)", "self.cross_attention(x, memory, memory)"),
        ("decoder-layer", "self.self_attention(x, x, x, self_mask)", "self.self_attention(x, x, x)"),
        ("decoder-layer", "self.norm3(x + ", "self.norm2(x + "),
        ("decoder-layer", "self.norm2(x + self.dropout(read))", "self.norm2(self.dropout(read))"),
        ("decoder-layer", "self.norm1(x + self.dropout(attended))", "x + self.dropout(attended)"),
        ("decoder-layer", "read, _ = self.cross_attention", "read, _ = self.self_attention"),
        ("decoder-layer", "self.feed_forward(x)", "self.feed_forward(read)"),
        ("decoder-layer", "x + self.dropout(changed)", "x + changed"),
        ("decoder-layer", "x + self.dropout(read)", "x + read"),
        ("decoder", "layer(x, memory, self_mask, memory_mask)", "layer(x, memory, self_mask)"),
        ("decoder", "layer(x, memory, self_mask, memory_mask)", "layer(x, memory, None, memory_mask)"),
        ("decoder", "return self.project(x)", "return self.project(x).softmax(dim=-1)"),
        ("decoder", "return self.project(x)", "return self.project(x).log_softmax(dim=-1)"),
        ("decoder", "return self.project(x)", "return x"),
        ("decoder", "nn.Linear(d_model, vocab_size)", "nn.Linear(d_model, vocab_size, bias=False)"),
        ("decoder", "[DecoderLayer(d_model, num_heads, d_ff, dropout) for _ in range(num_layers)]",
         "[DecoderLayer(d_model, num_heads, d_ff, dropout)] * num_layers"),
        ("decoder", "x = self.position(x)", "pass"),
        ("decoder", "d_model, max_len, dropout", "d_model, 512, dropout"),
        ("decoder", "x = layer(x, ", "x = self.layers[0](x, "),
        ("decoder", "num_heads, d_ff, dropout)", "num_heads, d_ff)"),
        ("causal-decoder-layer", "(normed, normed, normed, mask)", "(normed, normed, normed)"),
        ("causal-decoder-layer", "causal_mask(x.size(1))", "causal_mask(x.size(1)).mT"),
        ("causal-decoder-layer", "x = x + self.dropout(attended)", "x = normed + self.dropout(attended)"),
        ("causal-decoder-layer", "return x + self.dropout(changed)", "return self.norm2(x + self.dropout(changed))"),
        ("causal-decoder-layer", "normed = self.norm2(x)", "normed = x"),
        ("causal-decoder-layer", "normed = self.norm2(x)", "normed = self.norm1(x)"),
        ("causal-decoder-layer", "normed = self.norm1(x)", "normed = x"),
        ("causal-decoder-layer", "x + self.dropout(changed)", "x + changed"),
        ("decoder-choices", '"output_width": 50', '"output_width": "50"'),
    ],
)  # fmt: skip
def test_visible_tests_bite(name: str, old: str, new: str) -> None:
    """A typical mistake is caught by the tests a student can see."""
    with pytest.raises(BITES):
        LESSON.run({name: (old, new)}, until=name)
