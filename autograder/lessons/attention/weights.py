"""Checks of `softmax`."""

import torch

from autograder.judge.draw import Draw
from autograder.judge.exercise import Lesson, Stimulus, call
from autograder.judge.judgement import agrees, unchanged
from autograder.judge.symptoms import sums_to_one_along
from autograder.lessons.attention import reference

LIBRARY = "The library's softmax does the work here; write the exponential and the sum yourself."
SHIFT = "shifted = x - x.amax(dim=dim, keepdim=True)"
TOTAL = "exponentials.sum(dim=dim, keepdim=True)"
judge = agrees(sums_to_one_along)


def add_softmax(lesson: Lesson) -> None:
    """Declare the exercise, its cases and its misconceptions."""
    exercise = lesson.exercise(
        "softmax",
        2,
        "softmax",
        reference=reference.softmax,
        forbidden=dict.fromkeys(("softmax", "log_softmax", "softmin", "gumbel_softmax"), LIBRARY),
    )

    @exercise.case("each row of a table becomes a distribution", judge=judge, weight=2)
    def rows(draw: Draw) -> Stimulus:
        return call(draw.normal(3, 7, scale=2))

    @exercise.case("it works along any dimension, not only the last", judge=judge)
    def other_dimension(draw: Draw) -> Stimulus:
        return call(draw.normal(3, 4, 5, scale=2), dim=1)

    @exercise.case("entries of ±10 000 give finite weights", judge=judge)
    def large_entries(draw: Draw) -> Stimulus:
        return call(draw.normal(3, 7) + torch.tensor([[1e4], [-1e4], [0.0]]))

    @exercise.case("rows that differ by hundreds do not disturb each other", judge=judge)
    def distant_rows(draw: Draw) -> Stimulus:
        return call(draw.normal(3, 7) + torch.tensor([[40.0], [-40.0], [-300.0]]))

    @exercise.case("an entry of minus infinity gets a weight of exactly 0", judge=judge)
    def minus_infinity(draw: Draw) -> Stimulus:
        return call(draw.normal(4, 6).masked_fill(~draw.mask(4, 6), float("-inf")))

    @exercise.case(
        "the tensor you are given comes back unchanged", judge=unchanged(sums_to_one_along)
    )
    def arguments(draw: Draw) -> Stimulus:
        return call(draw.normal(2, 5).double())

    _add_misconceptions(lesson)


def _add_misconceptions(lesson: Lesson) -> None:
    mistake = lesson["softmax"].misconception
    mistake("no-maximum", "The maximum is not subtracted before the exponential",
            "What is exp(10 000)? What changes in the quotient if every exponent drops by the same number?",
            edits={SHIFT: "shifted = x"})  # fmt: skip
    mistake("global-maximum", "One maximum of the whole tensor is subtracted from every row",
            "Look at a row whose entries all lie 300 below the largest entry of another row.",
            edits={"x.amax(dim=dim, keepdim=True)": "x.max()"})  # fmt: skip
    mistake("mean-subtracted", "The mean is subtracted, not the maximum",
            "After the shift, which entry can still be far above 0? And what is a mean with −∞ in it?",
            edits={"x.amax(": "x.mean("})  # fmt: skip
    mistake("dim-ignored", "The argument `dim` is ignored: the last dimension is always used",
            "Call it with dim=0 on a 2 × 3 table and add up the columns.",
            edits={"dim=dim": "dim=-1"})  # fmt: skip
    mistake("total-over-everything", "The exponentials are divided by the sum of the whole tensor",
            "Each row is a distribution of its own: add up one row of your result.",
            edits={TOTAL: "exponentials.sum()"})  # fmt: skip
    mistake("total-over-first", "The sum runs over dimension 0, whatever `dim` says",
            "Add up one row of your result, then one column.",
            edits={TOTAL: "exponentials.sum(dim=0, keepdim=True)"})  # fmt: skip
    mistake("clamped", "The scores are cut off at ±50 to keep the exponential finite",
            "Two scores of 60 and 90 would get equal weights. Which shift changes nothing at all?",
            edits={SHIFT: "shifted = x.clamp(-50, 50)"},
            also=[{SHIFT: "shifted = x.clamp(max=80)"}])  # fmt: skip
    mistake("keepdim-missing", "The sum loses its dimension, so it is divided along the wrong one",
            "Print the shapes of the exponentials and of their sum; what does broadcasting do with them?",
            edits={TOTAL: "exponentials.sum(dim=dim)"})  # fmt: skip
    mistake("no-exponential", "The scores are divided by their sum, without an exponential",
            "Weights have to be positive, and equal steps in the score should be equal factors.",
            edits={"torch.exp(shifted)": "shifted"})  # fmt: skip
    mistake("base-two", "Powers of 2 are taken, not of e",
            "Compare the ratio of two weights with exp of the difference of their scores.",
            edits={"torch.exp(": "torch.exp2("})  # fmt: skip
    mistake("logarithm", "The logarithms of the weights are returned",
            "Are your results negative? Weights lie between 0 and 1.",
            edits={"return exponentials / ": "return shifted - torch.log(",
                   TOTAL: f"{TOTAL})"})  # fmt: skip
    mistake("in-place", "The maximum is subtracted in place, which changes the caller's tensor",
            "`x -= m` writes into the tensor you were given; `x - m` makes a new one.",
            edits={SHIFT: "x -= x.amax(dim=dim, keepdim=True)\n    shifted = x"})  # fmt: skip
