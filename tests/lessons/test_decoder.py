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
from mutants import check_words, evidence, failures, messages

from autograder.grading.grader import Grader
from autograder.judge.diagnose import diagnose
from autograder.judge.dropout import DropoutFact
from autograder.judge.oracle import Oracle
from autograder.lessons.decoder.decode_step import decode_step
from autograder.lessons.loading import load_lesson
from autograder.model.course import Course
from autograder.model.exercise import Exercise
from coursework.scope import stand_in
from coursework.torch_twins import torch_decoder_layer

LESSON = load_lesson(Course(ROOT), "06_decoder")
ORACLE = Oracle(LESSON, KEY)
told = partial(failures, ORACLE)

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
        ("decoder-layer", "self.norm1(x + self.dropout(attended))", "x + self.dropout(self.norm1(attended))",
         "on what each sublayer returns, before the sum and the norm"),
    ],
)  # fmt: skip
def test_an_unknown_mistake_is_put_into_words(exercise: str, old: str, new: str, said: str) -> None:
    """What matches nothing known still gets a sentence about what is wrong."""
    check_words(ORACLE, LESSON[exercise], old, new, said)


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
        y, cache = decode_step(layer, position, cache)
        steps.append(y)
    torch.testing.assert_close(torch.cat(steps, dim=1), layer(x))
