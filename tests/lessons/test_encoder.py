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
from keys import KEY, keys
from mutants import answer_with, evidence, messages

from autograder.judge.oracle import Evidence, Oracle
from autograder.lessons.loading import load_lesson
from autograder.model.course import Course

ORACLE = Oracle(load_lesson(Course(ROOT), "05_encoder"), KEY)


def tried(exercise: str, cell: str) -> list[Evidence]:
    """Return what every check of an exercise sees of a cell that is handed in."""
    checks = ORACLE.lesson[exercise]
    return evidence(ORACLE, checks, [answer_with(checks, cell)])


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


@pytest.mark.parametrize("key", [103, 145])
def test_whether_a_token_matters_shows_under_every_key(key: int) -> None:
    """With weights as they start, a token could count for so little that an encoder seemed deaf to it."""
    exercise = ORACLE.lesson["encoder"]
    answer = exercise.answer.replace("x = layer(x, mask)", "return layer(x, mask)")
    check = next(check for check in exercise.checks if check.id == "flip")
    oracle = Oracle(ORACLE.lesson, keys(key + 1)[key])
    assert oracle.try_edited(exercise, check, [answer_with(exercise, answer)]).passed


def test_a_misnamed_part_is_named_and_behaviour_still_counts() -> None:
    """If `norm1` is called `norm_1`, messages say so, and checks that load no weights still pass."""
    seen = tried("encoder-layer", ORACLE.lesson["encoder-layer"].answer.replace("norm1", "norm_1"))
    assert any("has no attribute `norm1`" in message for message in messages(seen))
    assert "everyone" in {item.check.id for item in seen if item.passed}
