"""Lesson 06: unusual right answers pass, unknown mistakes are put into words, and what has no name.

Lines of the catalogue of decoder mistakes that no edit stands for, and why:

- a memory taken from encoder layer i: the layers are handed one memory, so nothing here can tell;
- a mask made on the CPU at each call: only another device shows it;
- a mask of fixed size kept among the parameters: nothing is loaded strictly, and every length is
  tried, so that it fails as "size-fixed" does;
- a float mask with `~`: it raises TypeError, which the check on the mask's dtype tells;
- dropout on mask or memory in eval mode: "in eval mode nothing is dropped" fails without a name;
- BatchNorm and norms over (T, D): they have other parameters, or are told by "samples stay apart".
"""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from conftest import ROOT

from autograder.course import Course
from autograder.judge.judgement import Seen
from autograder.marker import Marker, workbench
from autograder.probe.scenarios import SCENARIOS

HandIn = Callable[..., Path]
LESSON = "06_decoder"
COURSE = Course(ROOT)

SHIFT_BY_LISTS = """
def shift_right(target, sos_id=1):
    return torch.tensor([[sos_id] + row[:-1] for row in target.tolist()])
"""
SHIFT_BY_ROLL = """
def shift_right(target, sos_id=1):
    out = torch.roll(target, 1, 1)
    out[:, 0] = sos_id
    return out
"""
SHIFT_BY_NEW = """
import numpy as np
def shift_right(target, sos_id=1):
    out = target.new_zeros(target.shape)
    out[:, 1:] = target[:, :-1]
    out[:, 0] = sos_id
    return torch.from_numpy(np.array(out))
"""
MASK_BY_LOOPS = """
def target_mask(ids, pad_id=0):
    B, T = ids.shape
    m = torch.zeros(B, T, T, dtype=torch.bool)
    for b in range(B):
        for i in range(T):
            for j in range(i + 1):
                m[b, i, j] = bool(ids[b, j] != pad_id)
    return m
"""
MASK_BY_TRIL = """
def target_mask(ids, pad_id=0):
    real = (ids != pad_id).unsqueeze(1).repeat(1, ids.shape[1], 1)
    return torch.tril(real.int()).bool()
"""
LAYER_OF_PARTS = """
class Sub(nn.Module):
    def __init__(self, norm, p):
        super().__init__()
        self.norm, self.drop = norm, nn.Dropout(p)
    def forward(self, x, y):
        return self.norm(torch.add(x, self.drop(y)))

class DecoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, num_heads)
        self.cross_attention = MultiHeadAttention(d_model, num_heads)
        self.feed_forward = FeedForward(d_model, d_ff, dropout)
        self.norm1, self.norm2, self.norm3 = [nn.LayerNorm(d_model) for _ in range(3)]
        self.subs = nn.ModuleList([Sub(n, dropout) for n in (self.norm1, self.norm2, self.norm3)])
        self.register_buffer("note", torch.ones(3))
    def forward(self, x, memory, self_mask=None, memory_mask=None):
        print("a stray print")
        x = self.subs[0](x, self.self_attention(x, x, x, mask=self_mask)[0])
        x = self.subs[1](x, self.cross_attention(query=x, key=memory, value=memory, mask=memory_mask)[0])
        return self.subs[2](x, self.feed_forward(x))
"""
LAYER_BY_FUNCTIONS = """
class DecoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__()
        self.p = dropout
        self.self_attention = MultiHeadAttention(d_model, num_heads, dropout=0.1)
        self.cross_attention = MultiHeadAttention(d_model, num_heads, dropout=0.1)
        self.feed_forward = FeedForward(d_model, d_ff, dropout=dropout)
        for i in (1, 2, 3):
            setattr(self, f"norm{i}", LayerNorm(d_model))
    def forward(self, x, memory, self_mask=None, memory_mask=None):
        if self_mask is None:
            self_mask = torch.ones(x.size(1), x.size(1), dtype=torch.bool)
        if memory_mask is None:
            memory_mask = torch.ones(x.size(0), x.size(1), memory.size(1), dtype=torch.bool)
        keep = lambda y: F.dropout(y, self.p, training=self.training)
        for norm, f in ((self.norm1, lambda z: self.self_attention(z, z, z, self_mask)[0]),
                        (self.norm2, lambda z: self.cross_attention(z, memory, memory, memory_mask)[0]),
                        (self.norm3, self.feed_forward)):
            x = F.layer_norm(x + keep(f(x)), x.shape[-1:], norm.weight, norm.bias, 1e-5)
        return x
"""
DECODER_COPIED = """
import copy
class Decoder(nn.Module):
    def __init__(self, vocab_size, d_model, num_layers, num_heads, d_ff, max_len=512, dropout=0.1):
        super().__init__()
        self.embedding = TokenEmbedding(vocab_size, d_model)
        self.position = PositionalEncoding(d_model, max_len=max_len, dropout=dropout)
        one = DecoderLayer(d_model, num_heads, d_ff, dropout)
        self.layers = nn.ModuleList([copy.deepcopy(one) for _ in range(num_layers)])
        self.first = self.layers[0]
        self.project = nn.Linear(d_model, vocab_size)
        self.body = nn.Sequential(self.embedding, self.position)
    def forward(self, ids, memory, self_mask=None, memory_mask=None):
        x = self.body(ids)
        for i in range(len(self.layers)):
            x = self.layers[i](x, memory, memory_mask=memory_mask, self_mask=self_mask)
        return x @ self.project.weight.T + self.project.bias
"""
BLOCK_WITH_BUFFER = """
class CausalDecoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.self_attention = MultiHeadAttention(d_model, num_heads, dropout)
        self.feed_forward = FeedForward(d_model, d_ff, dropout)
        self.drop1, self.drop2 = nn.Dropout(dropout), nn.Dropout(dropout)
        self.register_buffer("mask", causal_mask(64))
    def forward(self, x):
        T = x.shape[1]
        y = self.norm1(x)
        x = x + self.drop1(self.self_attention(y, y, y, self.mask[:T, :T].expand(x.shape[0], T, T))[0])
        return x + self.drop2(self.feed_forward(self.norm2(x)))
"""
CHOICES = 'answers = {"self_mask": " (c)", "memory_mask": "b", "from_encoder": "a.", "output_width": 50.0, "more": 1}'

UNUSUAL = [
    ("shift_right", SHIFT_BY_LISTS), ("shift_right", SHIFT_BY_ROLL), ("shift_right", SHIFT_BY_NEW),
    ("target_mask", MASK_BY_LOOPS), ("target_mask", MASK_BY_TRIL),
    ("decoder_layer", LAYER_OF_PARTS), ("decoder_layer", LAYER_BY_FUNCTIONS),
    ("decoder", DECODER_COPIED), ("causal_decoder_layer", BLOCK_WITH_BUFFER), ("decoder_choices", CHOICES),
]  # fmt: skip


@pytest.mark.parametrize(("exercise", "cell"), UNUSUAL)
def test_unusual_forms_pass(exercise: str, cell: str, marker: Marker, hand_in: HandIn) -> None:
    """Lists, numpy, helpers, parts registered twice, extra buffers, copies: full marks all the same."""
    report = marker.mark(LESSON, hand_in(LESSON, **{exercise: cell})).report
    told = report.exercise(exercise.replace("_", "-"))
    assert told.failures == []
    assert report.score == 20


UNKNOWN = [
    ("decoder_layer", "x = self.norm1(x + self.dropout(attended))", "x = self.norm1(x + 0.5 * self.dropout(attended))"),
    ("decoder_layer", "changed = self.feed_forward(x)", "changed = self.feed_forward(x).tanh()"),
    ("decoder_layer", "return self.norm3(x + self.dropout(changed))", "return 1.5 * self.norm3(x + self.dropout(changed)) + 0.25"),
    ("decoder", "return self.project(x)", "return self.project(x.flip(1))"),
    ("decoder", "x = self.position(x)", "x = self.position(x.relu())"),
    ("causal_decoder_layer", "return x + self.dropout(changed)", "return x - self.dropout(changed)"),
    ("causal_decoder_layer", "normed = self.norm2(x)", "normed = self.norm2(x).tanh()"),
    ("target_mask", "return causal & real", "return causal & real & causal.flip(0)"),
    ("shift_right", "dim=1)", "dim=1).flip(0)"),
]  # fmt: skip


@pytest.mark.parametrize(("exercise", "old", "new"), UNKNOWN)
def test_an_unknown_mistake_is_put_into_words(
    exercise: str, old: str, new: str, marker: Marker, hand_in: HandIn
) -> None:
    """What matches nothing known costs marks on its exercise alone, and says more than "differs"."""

    def edit(answer: str) -> str:
        answer += "\n"
        assert old in answer
        return answer.replace(old, new)

    report = marker.mark(LESSON, hand_in(LESSON, **{exercise: edit})).report
    told = report.exercise(exercise.replace("_", "-"))
    assert told.score is not None
    assert told.score < told.points
    assert report.score == 20 - told.points + told.score
    messages = [check.message for check in told.checks if not check.passed]
    assert all(
        len(message) > 30 and "differ from what was expected" not in message for message in messages
    )


def test_behaviour_counts_where_an_attribute_is_misnamed(marker: Marker, hand_in: HandIn) -> None:
    """A layer with `norm_1` for `norm1` is told so, and keeps the marks of the checks without weights."""
    path = hand_in(LESSON, decoder_layer=lambda answer: answer.replace("self.norm1", "self.norm_1"))
    told = marker.mark(LESSON, path).report.exercise("decoder-layer")
    assert told.score is not None
    assert 0 < told.score < told.points
    assert any("has no attribute `norm1`" in check.message for check in told.checks)


def test_a_wrong_layer_costs_the_decoder_nothing(marker: Marker, hand_in: HandIn) -> None:
    """The decoder is marked with a right layer in the place of the student's."""
    path = hand_in(LESSON, decoder_layer=lambda answer: answer.replace(", self_mask)", ")"))
    report = marker.mark(LESSON, path).report
    assert report.exercise("decoder").score == 4
    assert report.exercise("decoder-layer").score != 6


@pytest.mark.parametrize("seed", range(4))
def test_facts_hold_for_the_reference(seed: int) -> None:
    """What the dropout checks ask for is true of the reference, whatever is drawn."""
    bench = workbench(COURSE, LESSON)
    for exercise in bench.lesson.exercises:
        for case in exercise.cases:
            stimulus = exercise.stimulus(case, seed)
            if stimulus.scenario == "dropout_fact":
                value = bench.expected(exercise, stimulus).value
                assert value is True or value["left"] is True, case.id


def test_the_reference_is_torchs_own_decoder_layer() -> None:
    """The reference, built on functions, equals nn.TransformerDecoderLayer with its weights."""
    from coursework.torch_decoder import torch_decoder_layer

    bench = workbench(COURSE, LESSON)
    layer = bench.lesson["decoder-layer"].reference(12, 3, 20).eval()
    theirs = torch_decoder_layer(layer, d_model=12, num_heads=3, d_ff=20)
    x, memory, hidden = (
        torch.randn(2, 5, 12),
        torch.randn(2, 7, 12),
        torch.arange(7) >= torch.tensor([[7], [3]]),
    )
    future = torch.ones(5, 5, dtype=torch.bool).triu(diagonal=1)
    got = layer(x, memory, ~future, ~hidden[:, None])
    expected = theirs(x, memory, tgt_mask=future, memory_key_padding_mask=hidden)
    torch.testing.assert_close(got, expected, atol=1e-5, rtol=1e-5)


def test_movements_name_the_first_output_that_is_wrong() -> None:
    """The sentence names position and sample, and which way it is wrong."""
    bench = workbench(COURSE, LESSON)
    exercise = bench.lesson["decoder-layer"]
    case = next(case for case in exercise.cases if case.id == "target-token-moves")
    unmasked = next(m for m in exercise.misconceptions if m.id == "self-mask-unused")
    stimulus = exercise.stimulus(case, 1)
    namespace = bench.edited(exercise, [unmasked])
    assert namespace is not None
    seen = Seen(
        stimulus.inputs, bench.observe(namespace, stimulus), bench.expected(exercise, stimulus)
    )
    assert case.judge(seen).message == (
        "When target token 2 changes, the output at position 0 of sample 0 changes, and it must not."
    )


def test_forms_of_a_mistake_are_named_like_the_mistake() -> None:
    """Each further form of a mistake of the smaller exercises fails, and gets the mistake's name."""
    from test_misconceptions import evidence

    from autograder.judge.diagnose import diagnose

    bench = workbench(COURSE, LESSON)
    for name in ("shift-right", "target-mask"):
        exercise = bench.lesson[name]
        for mistake in exercise.misconceptions:
            for form in mistake.forms()[1:]:
                found = evidence(bench, exercise, [form], 1)
                named = [m.id for m in diagnose(bench, exercise, found)]
                assert named == [mistake.id]


def test_new_scenarios_are_known_to_the_probe() -> None:
    """The judge can ask for them by name."""
    assert {"moves", "dropout_fact", "all_gradients", "unregistered"} <= SCENARIOS.keys()
