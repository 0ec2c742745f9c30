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
        ("feed-forward", "nn.Dropout(dropout)", "nn.Dropout(1 - dropout)"),
        ("feed-forward", "self.linear2(hidden)", "self.dropout(self.linear2(hidden))"),
        ("feed-forward", "F.relu(self.linear1(x))  # (..., d_ff)\n        hidden = self.dropout(hidden)",
         "F.relu(self.linear1(self.dropout(x)))"),
        ("encoder-layer", "self.norm2 = LayerNorm(d_model)", "self.norm2 = self.norm1"),
        ("encoder-layer", "FeedForward(d_model, d_ff, dropout)", "FeedForward(d_model, d_ff)"),
        ("encoder-layer", "x = self.norm1(x + self.dropout(attended))", "x += attended; x = self.norm1(x)"),
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
        ("encoder", "layer(x, mask)", "layer(x, padding_mask(ids))"),
        ("encoder", "x = layer(x, mask)", "x = x + layer(x, mask)"),
        ("encoder", "x = self.position(x)", "x = x + self.position(x)"),
        ("encoder", "self.embedding(ids)", "self.embedding(ids) * 2"),
        ("encoder", "self.position", "self.positions"),
        ("encoder", "TokenEmbedding(", "nn.Embedding("),
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


@pytest.mark.parametrize(
    ("name", "old", "new", "words"),
    [
        ("layer-norm", "self.weight", "self.gamma", r"found \['bias', 'gamma'\]"),
        ("layer-norm", "variance + self.eps", "variance", "0 / 0 gives nan"),
        ("layer-norm", "self.weight * normed + self.bias", "self.weight * (normed + self.bias)", "is β added last"),
        ("feed-forward", "nn.Linear(d_model, d_ff)", "nn.Linear(d_model, d_ff, bias=False)", "'linear1.bias'"),
        ("feed-forward", "nn.Dropout(dropout)", "nn.Dropout(1 - dropout)", "Which rate does your dropout get"),
        ("encoder-layer", "self.norm2 = LayerNorm(d_model)", "self.norm2 = self.norm1", "are the same object"),
        ("encoder-layer", "FeedForward(d_model, d_ff, dropout)", "FeedForward(d_model, d_ff)", "With dropout=0.0"),
        ("encoder-layer", "self.dropout(transformed)", "F.dropout(transformed, self.dropout.p)", "know the mode"),
        ("encoder", "num_heads, d_ff, dropout)", "num_heads, d_ff)", "With dropout=0.0"),
        ("encoder", "x = layer(x, mask)", "x = self.layers[0](x, mask)", r"reaches \['layers.1', 'layers.2'\]"),
    ],
)  # fmt: skip
def test_a_visible_test_names_what_is_wrong(name: str, old: str, new: str, words: str) -> None:
    """The message is about this mistake, and not about the property that it happens to break first."""
    with pytest.raises(AssertionError, match=words):
        LESSON.run({name: (old, new)}, until=name)


STARTS = (
    "self.weight = nn.Parameter(torch.ones(d_model))",
    "self.bias = nn.Parameter(torch.zeros(d_model))",
)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("\n        ".join(STARTS), "\n        ".join(reversed(STARTS))),
        ("self.weight = ", "self.gamma = self.weight = "),
    ],
)
def test_a_norm_may_keep_its_parameters_as_it_likes(old: str, new: str) -> None:
    """The bias may come first, and a parameter may have a second name."""
    LESSON.run({"layer-norm": (old, new)}, until="layer-norm")
