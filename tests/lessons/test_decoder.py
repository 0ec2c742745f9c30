"""Lesson 06: right answers in unusual forms pass, and unknown mistakes are put into words.

Mistakes that no check names, and why:

- a memory taken from encoder layer i: the layers are passed a single memory, so nothing here can tell;
- a mask made on the CPU at each call: only another device shows it;
- a mask of fixed size among the parameters: it fails as "size-fixed" does, because every length is
  tried and nothing is loaded strictly;
- a float mask with `~`: it raises TypeError, and the check of the mask's dtype says so;
- dropout on mask or memory in eval mode: "in eval mode, nothing is dropped" fails without a name;
- BatchNorm and norms over (T, D): their parameters differ, or "samples stay apart" fails.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from conftest import ROOT
from keys import KEY, keys
from mutants import evidence, failures, messages

from autograder.grading.grader import Grader
from autograder.judge.diagnose import diagnose
from autograder.judge.dropout import DropoutFact
from autograder.judge.oracle import Oracle
from autograder.lessons.decoder import reference
from autograder.lessons.loading import load_lesson
from autograder.model.course import Course
from autograder.model.exercise import Exercise
from coursework.scope import stand_in
from coursework.torch_decoder import torch_decoder_layer

LESSON = load_lesson(Course(ROOT), "06_decoder")
ORACLE = Oracle(LESSON, KEY)
told = partial(failures, ORACLE)

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
    ("shift-right", SHIFT_BY_LISTS), ("shift-right", SHIFT_BY_ROLL), ("shift-right", SHIFT_BY_NEW),
    ("target-mask", MASK_BY_LOOPS), ("target-mask", MASK_BY_TRIL),
    ("decoder-layer", LAYER_OF_PARTS), ("decoder-layer", LAYER_BY_FUNCTIONS),
    ("decoder", DECODER_COPIED), ("causal-decoder-layer", BLOCK_WITH_BUFFER), ("decoder-choices", CHOICES),
]  # fmt: skip


@pytest.mark.parametrize(("exercise", "cell"), UNUSUAL)
def test_right_answers_in_unusual_forms_pass(exercise: str, cell: str) -> None:
    """Lists, numpy, helpers, parts registered twice, extra buffers and copies cost nothing."""
    assert told(LESSON[exercise], cell) == {}


@pytest.mark.parametrize(
    ("exercise", "old", "new", "said"),
    [
        ("decoder-layer", "x = self.norm1(x + self.dropout(attended))",
         "x = self.norm1(x + 0.5 * self.dropout(attended))", "gradients of"),
        ("decoder-layer", "return self.norm3(x + self.dropout(changed))",
         "return 1.5 * self.norm3(x + self.dropout(changed)) + 0.25", "not the output of `norm3`"),
        ("decoder", "return self.project(x)", "return self.project(x.flip(1))", "changes, but it must not"),
        ("causal-decoder-layer", "return x + self.dropout(changed)", "return x - self.dropout(changed)", "Call 1 of 3"),
        ("target-mask", "return causal & real", "return causal & real & causal.flip(0)", "your mask hides key"),
        ("shift-right", "dim=1)", "dim=1).flip(0)", "it should hold token 0 of that row"),
        ("shift-right", "dim=1)", "dim=1) + 1", "should hold the start token, but it"),
    ],
)  # fmt: skip
def test_an_unknown_mistake_is_put_into_words(exercise: str, old: str, new: str, said: str) -> None:
    """What matches nothing known still gets a sentence about what is wrong."""
    answer = f"{LESSON[exercise].answer}\n"
    assert old in answer
    messages = told(LESSON[exercise], answer.replace(old, new)).values()
    assert any(said in message for message in messages), messages


def test_behaviour_counts_where_an_attribute_is_misnamed() -> None:
    """If `norm1` is called `norm_1`, messages say so, and checks that need no weights still pass."""
    exercise = LESSON["decoder-layer"]
    failed = told(exercise, exercise.answer.replace("self.norm1", "self.norm_1"))
    assert 0 < len(failed) < len(exercise.checks)
    assert any("has no attribute `norm1`" in message for message in failed.values())


def test_a_wrong_layer_costs_the_decoder_nothing(
    grader: Grader, hand_in: Callable[..., Path]
) -> None:
    """The decoder is graded with a right layer in the place of the student's."""
    path = hand_in("06_decoder", decoder_layer=lambda answer: answer.replace(", self_mask)", ")"))
    report = grader.grade("06_decoder", path).report
    assert report.exercise("decoder").score == 4
    assert report.exercise("decoder-layer").score != 6


@pytest.mark.parametrize("key", keys(4))
@pytest.mark.parametrize("exercise", LESSON.exercises, ids=lambda exercise: exercise.id)
def test_facts_about_dropout_hold_for_the_reference(exercise: Exercise, key: bytes) -> None:
    """What the checks of dropout ask for is true of the reference, whatever is drawn."""
    oracle = Oracle(LESSON, key)
    for check in exercise.checks:
        test_input = oracle.test_input(exercise, check)
        if isinstance(test_input.operation, DropoutFact):
            value = oracle.expected(exercise, check, test_input).value
            assert value is True or value["left"] is True, check.id


def test_the_reference_is_torchs_own_decoder_layer() -> None:
    """The reference, built on functions, equals nn.TransformerDecoderLayer with its weights."""
    layer = LESSON["decoder-layer"].reference(12, 3, 20).eval()
    theirs = torch_decoder_layer(layer, d_model=12, num_heads=3, d_ff=20)
    x, memory = torch.randn(2, 5, 12), torch.randn(2, 7, 12)
    hidden = torch.arange(7) >= torch.tensor([[7], [3]])
    future = torch.ones(5, 5, dtype=torch.bool).triu(diagonal=1)
    got = layer(x, memory, ~future, ~hidden[:, None])
    expected = theirs(x, memory, tgt_mask=future, memory_key_padding_mask=hidden)
    torch.testing.assert_close(got, expected, atol=1e-5, rtol=1e-5)


def test_a_message_names_the_first_output_that_should_not_change() -> None:
    """It says what was changed, and at which position of which sample the output follows it."""
    exercise = LESSON["decoder-layer"]
    unmasked = next(m for m in exercise.mistakes if m.id == "self-mask-unused")
    seen = evidence(ORACLE, exercise, [unmasked])
    (message,) = messages([item for item in seen if item.check.id == "target-token-moves"])
    assert message == (
        "When target token 2 changes, the output at position 0 of sample 0 changes, but it must not."
    )


@pytest.mark.parametrize("exercise", ["shift-right", "target-mask"])
def test_every_form_of_a_mistake_is_named_like_the_mistake(exercise: str) -> None:
    """Each further form of a mistake of the smaller exercises fails, and gets the mistake's name."""
    checks = LESSON[exercise]
    for mistake in checks.mistakes:
        for form in mistake.forms()[1:]:
            found = evidence(ORACLE, checks, [form])
            assert [m.id for m in diagnose(ORACLE, checks, found)] == [mistake.id]


@pytest.mark.parametrize("double", [False, True])
def test_the_steps_of_the_reference_are_those_of_the_whole_layer(double: bool) -> None:
    """What `decode_step` is compared with gives, step by step, what the layer gives on all positions."""
    torch.manual_seed(3)
    layer: Any = stand_in("CausalDecoderLayer")
    layer = layer(12, 3, 20).to(torch.float64 if double else torch.float32).eval()
    x, cache, steps = torch.randn(2, 6, 12, dtype=layer.norm1.weight.dtype), None, []
    for position in x.split(1, dim=1):
        y, cache = reference.decode_step(layer, position, cache)
        steps.append(y)
    torch.testing.assert_close(torch.cat(steps, dim=1), layer(x))
