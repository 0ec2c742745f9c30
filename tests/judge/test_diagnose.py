"""Mistakes are named where the evidence carries it; a result of another form is compared as if it were right."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from conftest import REAL_COURSE
from keys import KEY
from mutants import answer_with, evidence

from autograder.grading.grader import Grader
from autograder.judge.diagnose import _with_gradients, diagnose, fix_form
from autograder.judge.oracle import Oracle, judge_check
from autograder.lessons.loading import load_lesson
from autograder.model.report import Outcome
from coursework.engine.compare import difference
from coursework.engine.describe import Comparison
from coursework.engine.operations import AskEach, FunctionGradients, ModuleGradients

HandIn = Callable[..., Path]

ATTENTION = """
def scaled_dot_product_attention(q, k, v, mask=None):
    s = q @ k.mT{scale}
    if mask is not None:
        s = {hide}
    w = torch.softmax(s, {dim})
    return w @ v, w
"""
ROOT = " / q.size(-1) ** 0.5"


@pytest.mark.parametrize(
    ("cell", "named"),
    [
        (
            ATTENTION.format(scale="", hide="s.masked_fill(mask, float('-inf'))", dim=-1),
            {"scale-missing", "mask-inverted"},
        ),
        (
            ATTENTION.format(scale=ROOT, hide="s + (1 - mask.float()) * -1e9", dim=1),
            {"softmax-over-dim-1", "empty-row-uniform"},
        ),
        (
            ATTENTION.format(scale=ROOT, hide="s.masked_fill(mask == 0, -1e9)", dim=-1),
            {"empty-row-uniform"},
        ),
        (
            ATTENTION.format(scale=ROOT + ROOT, hide="s * mask", dim=-1),
            {"scaled-twice", "mask-multiplied"},
        ),
    ],
)
def test_code_of_another_hand_is_diagnosed(
    cell: str, named: set[str], grader: Grader, hand_in: HandIn
) -> None:
    """What counts is what the code does: one mistake or two, written in any way."""
    report = grader.grade(
        "03_attention", hand_in("03_attention", scaled_dot_product_attention=cell)
    ).report
    told = report.exercise("scaled-dot-product-attention")
    assert {mistake.id for mistake in told.misconceptions} == named


@pytest.mark.parametrize(
    ("name", "exercise", "changes"),
    [
        ("04_multi_head_attention", "multi-head-attention", ("self.dropout(weights)", "F.dropout(weights, 0.3)")),
        pytest.param(
            "06_decoder", "decoder", ("self.position(x)", "F.dropout(self.position(x), 0.1)"),
            marks=pytest.mark.full("another lesson", seconds=10),
        ),
    ],
)
def test_an_answer_that_is_random_in_eval_mode_is_named_as_that(
    name: str, exercise: str, changes: tuple[str, str]
) -> None:
    """Not for what its results look like, such as a leak under a causal mask."""
    lesson = load_lesson(REAL_COURSE, name)
    oracle, asked = Oracle(lesson, KEY), lesson[exercise]
    cell = asked.answer.replace(*changes)
    (named,) = diagnose(oracle, asked, evidence(oracle, asked, [answer_with(asked, cell)]))
    assert named.title == "In eval mode, two calls with the same input give different results"


def test_a_mistake_nobody_knows_is_described_but_not_named(grader: Grader, hand_in: HandIn) -> None:
    """Without a match there is no name, but a sentence on what is wrong."""
    cell = "def softmax(x, dim=-1):\n    e = (x - x.amax(dim, True)).exp()\n    return e / (e.sum(dim, True) + 0.1)"
    told = grader.grade("03_attention", hand_in("03_attention", softmax=cell)).report.exercise(
        "softmax"
    )
    assert told.misconceptions == []
    assert "should sum to 1" in told.checks[0].message


def test_each_wrong_entry_is_explained_for_itself(grader: Grader, hand_in: HandIn) -> None:
    """Wrong choices are named one by one; a missing key costs itself; any form of a shape counts."""
    cell = (
        "answers = {'q': [4, 6, 16], 'k': torch.Size([4, 9, 16]), 'v': (4, 9, 10), 'scores': (4, 9, 6),"
        " 'value_vectors': 6, 'why_scale': 'c', 'other_score': ' A ', 'conditions': 'D'}"
    )
    told = grader.grade(
        "03_attention", hand_in("03_attention", attention_shapes=cell)
    ).report.exercise("attention-shapes")
    assert [check.id for check in told.failures] == ["scores", "output", "value-vectors"]
    assert {mistake.id for mistake in told.misconceptions} == {"scores-by-key", "value-a-query"}
    assert told.score == 1.25


MASK = torch.ones(4, 4, dtype=torch.bool).tril()
NUMBERS = torch.arange(24.0).reshape(2, 3, 4)


@pytest.mark.parametrize(
    ("got", "want", "title"),
    [
        (MASK.float(), MASK, "The result holds numbers, not True and False"),
        (torch.zeros(4, 4).masked_fill(~MASK, -torch.inf), MASK, "The result holds 0 and −∞, not True and False"),
        (NUMBERS.double(), NUMBERS, "The result is float64; float32 was expected"),
        (NUMBERS.tolist(), NUMBERS, "The result is a list; a tensor was expected"),
        ((NUMBERS, MASK), NUMBERS, "The result is a tuple; a tensor was expected"),
        (NUMBERS[None], NUMBERS, "The result has one dimension too many, at the beginning"),
        (NUMBERS.mT, NUMBERS, "The result has dimensions 1 and 2 swapped"),
        (MASK[:, None].expand(4, 4, 4), MASK[:, None], "The result has the wrong size in dimension 1: it has the size of dimension 0"),
    ],
)
def test_a_wrong_form_is_put_right(got: Any, want: Any, title: str) -> None:
    """Dtype, type and shape are told, and what is left has the right numbers."""
    done = fix_form(got, want)
    assert done is not None
    assert done.title == title
    assert difference(done.value, want) is None


@pytest.mark.parametrize("got", [NUMBERS + 1, NUMBERS[0], "text", None, object()])
def test_what_has_no_other_form_is_left(got: Any) -> None:
    """Wrong numbers, other sizes and other things are no matter of form."""
    assert fix_form(got, NUMBERS) is None


def test_the_same_thing_is_put_right_in_every_entry() -> None:
    """A pair whose entries share a wrong form becomes a pair of the right form, at once."""
    done = fix_form((NUMBERS.double(), NUMBERS.double()), (NUMBERS, NUMBERS))
    assert done is not None
    assert difference(done.value, (NUMBERS, NUMBERS)) is None


LAYER_NORM = """
class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.weight, self.bias, self.eps = nn.Parameter(torch.ones(d_model)), nn.Parameter(torch.zeros(d_model)), eps

    def forward(self, x):
        {before}x = x - x.mean(-1, keepdim=True)
        x = self.weight * x * (x.square().mean(-1, keepdim=True){eps}).rsqrt() + self.bias
        return {result}
"""


@pytest.mark.parametrize(
    ("cell", "named"),
    [
        (LAYER_NORM.format(before="", eps=" + self.eps", result="x.data"), ["No gradient gets through"]),
        (LAYER_NORM.format(before="x = x.detach(); ", eps=" + self.eps", result="x"), ["No gradient reaches `x`"]),
        (LAYER_NORM.format(before="", eps="", result="x.data"), []),
    ],
    ids=["everything", "one argument", "with a wrong number besides"],
)
def test_lost_gradients_are_named_where_nothing_else_is_wrong(
    cell: str, named: list[str], grader: Grader, hand_in: HandIn
) -> None:
    """All numbers are right, but the layer, or what comes before it, does not learn; it keeps two thirds."""
    report = grader.grade("05_encoder", hand_in("05_encoder", layer_norm=cell)).report
    told = report.exercise("layer-norm")
    assert [each.title for each in told.misconceptions if each.id == "gradients-lost"] == named
    assert told.score is not None
    assert told.score <= 2.0


@pytest.mark.parametrize("got", [None, 3, [], {}, {"output": None}, {"gradients": 3}, {"gradients": [None] * 9}, [{"gradients": []}]])
@pytest.mark.parametrize("operation", [FunctionGradients, ModuleGradients])
def test_gradients_of_any_form_are_no_error_of_the_grader(operation: Any, got: Any) -> None:
    """What a process says of its gradients may be anything at all."""
    asked = operation(())
    for each, said, want in ((asked, got, {"gradients": [torch.ones(2)]}), (AskEach([asked]), [got], [{"w": torch.ones(2)}])):
        value, number = _with_gradients(each, said, want)
        assert number >= 0
        assert type(value) is type(said)


NO_RETURN = """def sinusoidal_encoding(max_len, d_model):
    positions = torch.arange(max_len).unsqueeze(1)
    exponents = torch.arange(0, d_model, 2) / d_model
    angles = positions / 10000**exponents
    table = torch.zeros(max_len, d_model)
    table[:, 0::2] = torch.sin(angles)
    table[:, 1::2] = torch.cos(angles)
"""


@pytest.mark.sandbox
def test_a_missing_return_comes_before_a_missing_exception(grader: Grader, hand_in: HandIn) -> None:
    """Nothing is returned on any input; with a search for the lines or without, a page begins with that."""
    lesson = "02_positional_encoding"
    path = hand_in(lesson, sinusoidal_encoding=NO_RETURN)
    for lines in (False, True):
        told = grader.grade(lesson, path, lines=lines).report.exercise("sinusoidal-encoding")
        assert told.misconceptions[0].title == "The result is None; a tensor was expected"
        assert told.misconceptions[0].hint == "Is there a `return`?"


@pytest.mark.sandbox
@pytest.mark.parametrize(
    ("lesson", "name"), [("06_decoder", "decode_step"), ("08_attention_visualisation", "sentence_pair_attention")]
)
def test_a_missing_return_is_told_where_several_results_are_expected(
    lesson: str, name: str, grader: Grader, hand_in: HandIn
) -> None:
    """However the checks put what they miss of a pair, or of three results."""
    exercise = next(each for each in load_lesson(REAL_COURSE, lesson).exercises if each.name == name)
    before, _, after = exercise.answer.rpartition("return ")
    told = grader.grade(lesson, hand_in(lesson, **{name: before + after})).report.exercise(exercise.id)
    assert [(each.title, each.hint) for each in told.misconceptions] == [("The result is None", "Is there a `return`?")]


def test_an_excluded_function_is_named_as_in_the_cell() -> None:
    """In the message of a check, and as what does the work."""
    oracle = Oracle(load_lesson(REAL_COURSE, "05_encoder"), KEY)
    exercise = oracle.lesson["layer-norm"]
    first = evidence(oracle, exercise, [])[0]
    got, source = replace(first.got, value=None, excluded=("F.batch_norm",)), "y = F.instance_norm(x)"
    seen = Comparison(first.test_input.operation, got, first.expected, source=source)
    assert judge_check(exercise, first.check, seen).message.startswith("`F.instance_norm` is excluded")
    [named] = diagnose(oracle, exercise, [replace(first, got=got, passed=False)], source)
    assert named.title == "`F.instance_norm` does the work"


def test_of_two_mistakes_the_one_that_spoils_more_comes_first() -> None:
    """It is the headline of the page, and the student works on it first."""
    lesson = load_lesson(REAL_COURSE, "04_multi_head_attention")
    oracle, asked = Oracle(lesson, KEY), lesson["multi-head-attention"]
    mistakes = {each.id: each for each in asked.mistakes}
    small, large = mistakes["assertion"], mistakes["scaled-by-d-model"]
    assert [*mistakes].index(small.id) < [*mistakes].index(large.id)
    assert [each.id for each in diagnose(oracle, asked, evidence(oracle, asked, [small, large]))] == [
        large.id,
        small.id,
    ]


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("return [[j <= i for j in range(size)] for i in range(size)]", "list"),
        ("import numpy as np\n    return np.tril(np.ones((size, size), dtype=bool))", "NumPy array"),
        ("import numpy as np\n    m = np.tril(np.ones((size, size)))\n    return m == 1", "NumPy array"),
    ],
)
def test_a_result_of_another_type_is_named_as_that(body: str, kind: str, grader: Grader, hand_in: HandIn) -> None:
    """However large it is, and whatever change would make it a tensor: nothing crashed, and nobody is accused."""
    wrong = f"def causal_mask(size):\n    {body}\n"
    report = grader.grade("03_attention", hand_in("03_attention", causal_mask=wrong), lines=True).report
    told = report.exercise("causal-mask")
    assert [each.title for each in told.misconceptions] == [f"The result is a {kind}; a tensor was expected"]
    assert told.outcome is Outcome.FAILED
    assert report.incidents == []
