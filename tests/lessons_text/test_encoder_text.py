"""Lesson 5 as its author writes it: its visible tests bite."""

import pytest

from .lesson_run import BITES
from .lessons import LESSONS

LESSON = LESSONS["05_encoder"]


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("layer-norm", ", unbiased=False", ""),
        ("layer-norm", "torch.sqrt(variance + self.eps)", "(torch.sqrt(variance) + self.eps)"),
        ("layer-norm", "mean(dim=-1, keepdim=True)", "mean(dim=-2, keepdim=True)"),
        ("layer-norm", "x.mean(dim=-1, keepdim=True)", "x.mean()"),
        ("layer-norm", "nn.Parameter(torch.ones(d_model))", "torch.ones(d_model)"),
        ("layer-norm", " + self.bias", ""),
        ("layer-norm", "self.weight * normed", "normed"),
        ("feed-forward", "F.relu(self.linear1(x))", "self.linear1(x)"),
        ("feed-forward", "return self.linear2(hidden)", "return F.relu(self.linear2(hidden))"),
        ("feed-forward", "hidden = self.dropout(hidden)", "pass"),
        ("feed-forward", "self.dropout(hidden)", "F.dropout(hidden, 0.5)"),
        ("feed-forward", "nn.Dropout(dropout)", "nn.Dropout(0.1)"),
        ("feed-forward", "F.relu(", "F.gelu("),
        ("encoder-layer", "x + self.dropout(attended)", "self.dropout(attended)"),
        ("encoder-layer", "self.norm2(x + self.dropout(transformed))", "x + self.norm2(transformed)"),
        ("encoder-layer", "self.norm2(x + ", "self.norm1(x + "),
        ("encoder-layer", "(x, x, x, mask)", "(x, x, x)"),
        ("encoder-layer", "self.feed_forward(x)", "self.feed_forward(attended)"),
        ("encoder-layer", "self.norm1(x + self.dropout(attended))", "x + self.dropout(attended)"),
        ("encoder-layer", "self.feed_forward(x)", "self.feed_forward(self.norm2(x))"),
        ("encoder-layer", "x + self.dropout(transformed)", "x + transformed"),
        ("encoder-layer", "x + self.dropout(attended)", "x + attended"),
        ("encoder", "layer(x, mask)", "layer(x)"),
        ("encoder", "x = self.position(x)", "pass"),
        ("encoder", "range(num_layers)", "range(1)"),
        ("encoder", "x = layer(x, mask)", "x = self.layers[0](x, mask)"),
        ("encoder", "EncoderLayer(d_model, num_heads, d_ff, dropout) for _ in range(num_layers)",
         "[EncoderLayer(d_model, num_heads, d_ff, dropout)] * num_layers"),
        ("encoder", "self.layers = nn.ModuleList(", "self.layers = list("),
        ("encoder", "(d_model, max_len, dropout)", "(d_model, max_len, dropout); self.norm = LayerNorm(d_model)"),
        ("encoder", "d_model, max_len, dropout", "d_model, 512, dropout"),
        ("encoder", "num_heads, d_ff, dropout)", "num_heads, d_ff)"),
    ],
)  # fmt: skip
def test_visible_tests_bite(name: str, old: str, new: str) -> None:
    """A typical mistake is caught by the tests a student can see."""
    with pytest.raises(BITES):
        LESSON.run({name: (old, new)}, until=name)
