"""Lesson 05: right answers in unusual forms pass, near misses lose points, and messages help.

Mistakes that no output tells apart, and which are therefore not named:

- copies of one layer in place of layers built one by one: equal first weights are allowed, and the
  copies learn apart;
- dropout on the attention weights, or none: either is allowed;
- a padding mask that is one token too short or too long: the caller makes it, not these parts;
- dropout before or after the ReLU: the result is the same.
"""

import pytest
from conftest import ROOT
from keys import KEY
from mutants import answer_with, evidence, messages

from autograder.judge.oracle import Evidence, Oracle
from autograder.lessons.loading import load_lesson
from autograder.model.course import Course

ORACLE = Oracle(load_lesson(Course(ROOT), "05_encoder"), KEY)

NORM_BY_HAND = """
class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.register_buffer("calls", torch.zeros(1))
        self.weight, self.bias = nn.Parameter(torch.ones(d_model)), nn.Parameter(torch.zeros(d_model))
        self.eps = eps
    def forward(self, x):
        centred = x - torch.einsum("...d->...", x).unsqueeze(-1) / x.shape[-1]
        scale = torch.rsqrt((centred * centred).mean(-1, keepdim=True) + self.eps)
        return torch.addcmul(self.bias.to(x.dtype), centred * scale, self.weight)
"""
NORM_BY_STD = """
class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.gamma = self.weight = nn.Parameter(torch.ones(d_model))
        self.beta = self.bias = nn.Parameter(torch.zeros(d_model))
        self.epsilon = eps
    def forward(self, x):
        var, mean = torch.var_mean(x, dim=-1, correction=0, keepdim=True)
        return (x - mean) / (var + self.epsilon) ** 0.5 * self.gamma + self.beta
"""
FEED_AS_SEQUENCE = """
class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.1):
        super().__init__()
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)
        self.net = nn.Sequential(self.linear1, nn.Dropout(dropout), nn.ReLU(), self.linear2)
    def forward(self, x):
        return self.net(x)
"""
FEED_BY_CLAMP = """
class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.1):
        super().__init__()
        self.p = dropout
        self.linear1, self.linear2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
    def forward(self, x):
        flat = x.reshape(-1, x.shape[-1])
        h = (flat @ self.linear1.weight.T + self.linear1.bias).clamp(min=0)
        h = F.dropout(h, p=self.p, training=self.training)
        return self.linear2(h).reshape(x.shape)
"""
FEED_BY_POSITION = """
class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.1):
        super().__init__()
        self.linear1, self.linear2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.drop = nn.Dropout(dropout)
    def forward(self, x):
        return torch.stack([self.linear2(torch.relu(self.drop(self.linear1(t)))) for t in x.unbind(-2)], dim=-2)
"""
LAYER_IN_PIECES = """
class AddAndNorm(nn.Module):
    def __init__(self, norm, p):
        super().__init__()
        self.norm, self.drop = norm, nn.Dropout(p)
    def forward(self, x, sublayer):
        return self.norm(x + self.drop(sublayer(x)))

class EncoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, num_heads, dropout)
        self.feed_forward = FeedForward(d_model, d_ff, dropout)
        self.norm1, self.norm2 = LayerNorm(d_model), LayerNorm(d_model)
        self.first, self.second = AddAndNorm(self.norm1, dropout), AddAndNorm(self.norm2, dropout)
    def forward(self, x, mask=None):
        x = self.first(x, lambda y: self.self_attention(query=y, key=y, value=y, mask=mask)[0])
        return self.second(x, self.feed_forward)
"""
LAYER_WITH_TORCHS_NORM = """
class EncoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__()
        self.norm1 = nn.LayerNorm(d_model); self.norm2 = nn.LayerNorm(d_model)
        self.self_attention = MultiHeadAttention(d_model=d_model, num_heads=num_heads)
        self.feed_forward = FeedForward(d_model, d_ff, dropout=dropout)
        self.dropout1 = nn.Dropout(dropout); self.dropout2 = nn.Dropout(dropout)
    def forward(self, x, mask=None):
        if mask is None:
            mask = torch.ones(x.size(0), 1, x.size(1), dtype=torch.bool)
        a, weights = self.self_attention(x, x, x, mask)
        self.last_weights = weights
        h = self.norm1(self.dropout1(a) + x)
        return self.norm2(torch.add(h, self.dropout2(self.feed_forward(h))))
"""
LAYER_BY_FUNCTIONS = """
class EncoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__()
        self.p = dropout
        self.self_attention = MultiHeadAttention(d_model, num_heads)
        self.feed_forward = FeedForward(d_model, d_ff, dropout)
        self.norm1, self.norm2 = LayerNorm(d_model), LayerNorm(d_model)
        self.sublayers = nn.ModuleList([self.self_attention, self.feed_forward])
    def forward(self, x, mask=None):
        for sublayer, norm in zip(self.sublayers, (self.norm1, self.norm2)):
            out = sublayer(x, x, x, mask)[0] if sublayer is self.self_attention else sublayer(x)
            x = norm(x + F.dropout(out, self.p, self.training))
        return x
"""
ENCODER_OF_COPIES = """
import copy
class Encoder(nn.Module):
    def __init__(self, vocab_size, d_model, num_layers, num_heads, d_ff, max_len=512, dropout=0.1):
        super().__init__()
        self.num_layers = num_layers
        self.embedding = TokenEmbedding(vocab_size, d_model, 0)
        self.position = PositionalEncoding(d_model, max_len=max_len, dropout=dropout)
        layer = EncoderLayer(d_model, num_heads, d_ff, dropout)
        self.layers = nn.ModuleList([copy.deepcopy(layer) for _ in range(num_layers)])
        self.register_buffer("pad", torch.tensor(0))
    def forward(self, ids, mask=None):
        x = self.position(self.embedding(ids))
        for i in range(self.num_layers):
            x = self.layers[i](x, mask=mask)
        return x
"""
ENCODER_BY_RECURSION = """
from functools import reduce
class Encoder(nn.Module):
    def __init__(self, vocab_size, d_model, num_layers, num_heads, d_ff, max_len=512, dropout=0.1):
        super().__init__()
        self.embedding, self.position = TokenEmbedding(vocab_size, d_model), PositionalEncoding(d_model, max_len, dropout)
        self.layers = nn.Sequential(*[EncoderLayer(d_model, num_heads, d_ff, dropout) for _ in range(num_layers)])
        self.stack = self.layers
        for p in self.parameters():
            if p.dim() > 1:
                nn.init.xavier_uniform_(p)
    def forward(self, ids, mask=None):
        return reduce(lambda x, layer: layer(x, mask), self.layers, self.position(self.embedding(ids)))
"""
ENCODER_REGISTERED_BY_HAND = """
class Encoder(nn.Module):
    def __init__(self, vocab_size, d_model, num_layers, num_heads, d_ff, max_len=512, dropout=0.1):
        super().__init__()
        self.embedding = TokenEmbedding(vocab_size, d_model)
        self.position = PositionalEncoding(d_model, max_len, dropout)
        self.layers = []
        for i in range(num_layers):
            self.layers.append(EncoderLayer(d_model, num_heads, d_ff, dropout))
            self.add_module(f"layer{i}", self.layers[-1])
    def forward(self, ids, mask=None):
        print("ids", ids.shape)
        hidden = [self.position(self.embedding(ids))]
        for layer in self.layers:
            hidden.append(layer(hidden[-1], mask))
        return hidden[-1]
"""
RIGHT = [
    ("layer-norm", NORM_BY_HAND), ("layer-norm", NORM_BY_STD),
    ("feed-forward", FEED_AS_SEQUENCE), ("feed-forward", FEED_BY_CLAMP), ("feed-forward", FEED_BY_POSITION),
    ("encoder-layer", LAYER_IN_PIECES), ("encoder-layer", LAYER_WITH_TORCHS_NORM), ("encoder-layer", LAYER_BY_FUNCTIONS),
    ("encoder", ENCODER_OF_COPIES), ("encoder", ENCODER_BY_RECURSION), ("encoder", ENCODER_REGISTERED_BY_HAND),
]  # fmt: skip


def tried(exercise: str, cell: str) -> list[Evidence]:
    """Return what every check of an exercise sees of a cell that is handed in."""
    checks = ORACLE.lesson[exercise]
    return evidence(ORACLE, checks, [answer_with(checks, cell)])


@pytest.mark.parametrize(("exercise", "cell"), RIGHT)
def test_right_answers_in_unusual_forms_pass(exercise: str, cell: str) -> None:
    """Parts registered twice, copies, buffers, loops and torch's own norm in a layer cost nothing."""
    assert messages(tried(exercise, cell)) == []


def test_a_subclass_of_a_stand_in_fails_what_a_norm_does() -> None:
    """Nothing passes but the check of the values that weight and bias start with."""
    cell = """
import coursework.stand_ins
class LayerNorm(coursework.stand_ins.LayerNorm):
    def __init__(self, d_model, eps=1e-5):
        super().__init__(d_model, eps=eps)
"""
    passed = {item.check.id for item in tried("layer-norm", cell) if item.passed}
    assert passed <= {"start"}


ODD = [
    ("encoder-layer", "return self.norm2(x + self.dropout(transformed))",
     "return self.norm2(x + self.dropout(transformed)) + 0.1 * transformed", "norm2"),
    ("encoder-layer", "x = self.norm1(x + self.dropout(attended))",
     "x = self.norm1(0.7 * x + self.dropout(attended))", "entries are wrong"),
    ("encoder", "x = self.position(x)", "x = 0.5 * self.position(x)", "entries are wrong"),
    ("encoder", "return x", "return x * 1.1 + 0.2", "entries are wrong"),
    ("layer-norm", "return self.weight * normed + self.bias", "return self.weight * normed.tanh() + self.bias", "mean 0"),
    ("feed-forward", "hidden = self.dropout(hidden)", "hidden = self.dropout(hidden) - 1", "numbers are off"),
    ("feed-forward", "hidden = self.dropout(hidden)", "hidden = F.dropout(hidden, 1.0, self.training)", "should become 1 / (1 − dropout) times"),
]  # fmt: skip


@pytest.mark.parametrize(("exercise", "old", "new", "words"), ODD)
def test_an_unknown_mistake_fails_and_a_message_says_where_to_look(
    exercise: str, old: str, new: str, words: str
) -> None:
    """None of these edits is a known mistake; some failed check still points to the place."""
    answer = ORACLE.lesson[exercise].answer
    assert old in answer
    told = messages(tried(exercise, answer.replace(old, new)))
    assert any(words in message for message in told), told


def test_a_misnamed_part_is_named_and_behaviour_still_counts() -> None:
    """If `norm1` is called `norm_1`, messages say so, and checks that load no weights still pass."""
    seen = tried("encoder-layer", ORACLE.lesson["encoder-layer"].answer.replace("norm1", "norm_1"))
    assert any("has no attribute `norm1`" in message for message in messages(seen))
    assert "everyone" in {item.check.id for item in seen if item.passed}
