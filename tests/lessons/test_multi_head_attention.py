"""Lesson 4's checks: unusual right answers pass, and unknown mistakes get a sentence."""

from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import ROOT
from keys import KEY
from mutants import answer_with, evidence, messages

from autograder.grading.grader import Grader
from autograder.judge.diagnose import diagnose
from autograder.judge.oracle import Evidence, Oracle
from autograder.lessons.loading import load_lesson
from autograder.model.course import Course

LESSON = "04_multi_head_attention"
ORACLE = Oracle(load_lesson(Course(ROOT), LESSON), KEY)
HandIn = Callable[..., Path]

HEADS_SEE_SLICES = """\
own = torch.block_diag(*[torch.ones(q.size(-1), q.size(-1))] * self.num_heads).to(q.dtype)
        q = split_heads(F.linear(query, self.w_q.weight * own, self.w_q.bias), self.num_heads)
        k = split_heads(F.linear(key, self.w_k.weight * own, self.w_k.bias), self.num_heads)
        """
def tried(exercise: str, source: str) -> list[Evidence]:
    """Try a source in the place of an exercise's model answer."""
    checks = ORACLE.lesson[exercise]
    return evidence(ORACLE, checks, [answer_with(checks, source)])


@pytest.mark.parametrize(
    ("exercise", "old", "new", "said"),
    [
        ("multi-head-attention", "return output, weights", "return output * 1.1, weights", "The weights are right, but the output is not"),
        ("multi-head-attention", "return output, weights", "return output.roll(1, -1), weights", "the right numbers in the wrong places"),
        ("multi-head-attention", "return output, weights", "return output, weights.roll(1, 1)", "The output is right, but the second value"),
        ("multi-head-attention", "return output, weights", "return output, weights ** 2", "Every row of weights should sum to 1"),
        ("multi-head-attention", "(q, k, v, mask)", "(1.3 * q, k, v, mask)", "The weights are already wrong"),
        ("multi-head-attention", "(q, k, v, mask)", "(q.flip(2), k, v, mask)", "The weights are already wrong"),
        ("multi-head-attention", "mask.unsqueeze(1)", "mask.unsqueeze(1).roll(1, -1)", "which the mask hides"),
        ("multi-head-attention", "merge_heads(mixed)", "merge_heads(mixed).roll(-1, 1)", "The future leaks"),
        ("multi-head-attention", "_, weights =", f"{HEADS_SEE_SLICES}_, weights =", "it sees only its own slice of x"),
        ("multi-head-attention", "return output, weights", "return output - output.mean(0), weights", "samples are mixed"),
        ("multi-head-attention", "self.w_v(value)", "self.w_v(value).detach()", "No gradient reaches `w_v.weight`"),
        ("split-heads", "x.transpose(1, 2)", "x.transpose(1, 2).roll(1, 1)", "It should be sample 0, token 0, feature 0"),
        ("split-heads", "x.transpose(1, 2)", "(x / 2 + x.detach() / 2).transpose(1, 2)", "The gradient of `x` is wrong."),
        ("merge-heads", "return x.reshape", "return x.flip(1).reshape", "It should be sample 0, head 0, token 0, feature 0"),
        ("load-from-torch", "copy_(w_k)", "copy_(w_k.flip(0))", "`w_k.weight` holds something else, but it should hold the keys' part"),
        ("load-from-torch", "mine.w_v.bias.copy_(b_v)", "pass", "`w_v.bias` was left as it was"),
        ("load-from-torch", "mine.w_o.bias.copy_(theirs.out_proj.bias)", "mine.w_o.bias.data = theirs.out_proj.bias.data", "shared, not copied"),
        ("parameter-count", "4 * one_layer", "4 * one_layer + 7", "The count is too large."),
        ("parameter-count", "4 * one_layer", "4 * one_layer - 2", "Which bias is missing?"),
        ("parameter-count", "4 * one_layer", "2 * one_layer", "smaller than the number of weights"),
    ],
)  # fmt: skip
def test_an_unknown_mistake_gets_a_sentence(exercise: str, old: str, new: str, said: str) -> None:
    """What matches nothing known is put into words, and no known mistake is blamed for it."""
    checks = ORACLE.lesson[exercise]
    assert old in checks.answer
    seen = tried(exercise, checks.answer.replace(old, new))
    assert not any(each.edits for each in diagnose(ORACLE, checks, seen))
    assert any(said in message for message in messages(seen)), messages(seen)


def test_what_changes_no_number_is_no_mistake() -> None:
    """Only outputs count."""
    answer = ORACLE.lesson["multi-head-attention"].answer
    source = answer.replace("output = self.w_o", "output = 0 * query.mean() + self.w_o")
    assert messages(tried("multi-head-attention", source)) == []


@pytest.mark.parametrize(
    "source",
    [
        "from coursework.stand_ins import MultiHeadAttention",
        "import coursework.stand_ins as s\nclass MultiHeadAttention(s.MultiHeadAttention):\n    pass",
    ],
)
def test_the_stand_in_is_no_answer(source: str) -> None:
    """What students are given for later lessons earns nothing in the lesson it belongs to."""
    told = messages(tried("multi-head-attention", source))
    assert len(told) == len(ORACLE.lesson["multi-head-attention"].checks)
    assert all("write your own" in message for message in told)


def test_a_missing_entry_costs_itself_only() -> None:
    """Entries of the dictionary are graded one by one."""
    answer = ORACLE.lesson["head-shapes"].answer
    seen = tried("head-shapes", answer.replace('"merged": (4, 5, 6),', ""))
    assert [item.check.id for item in seen if not item.passed] == ["merged"]


def test_a_wrong_layer_costs_neither_loading_nor_counting(grader: Grader, hand_in: HandIn) -> None:
    """Later exercises are graded with a right layer in the place of a wrong one."""
    path = hand_in(LESSON, multi_head_attention="class MultiHeadAttention:\n    pass")
    report = grader.grade(LESSON, path).report
    assert report.score == 12
    assert report.exercise("multi-head-attention").score == 0
