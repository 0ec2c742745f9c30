"""Checks of `attention_entropy`."""

import math

import torch

from autograder.judge.draw import Draw
from autograder.judge.exercise import Exercise, Lesson, Stimulus, call
from autograder.judge.judgement import Seen, agrees, unchanged
from autograder.judge.symptoms import constant_factor, wanted, whole
from autograder.lessons.attention_visualisation import reference

CLOSE = 1e-4
LOGS = "logs = torch.where(weights > 0, weights, 1.0).log()"
RETURN = "return -(weights * logs).sum(dim=-1)"


def _not_finite(seen: Seen) -> str | None:
    """Say that 0 log 0 has not become 0."""
    if not whole(seen).isfinite().all():
        return "Some entropies are NaN or infinite: 0 · log 0 is 0 here, but log(0) is −∞ and 0 · −∞ is NaN."
    return None


def _out_of_range(seen: Seen) -> str | None:
    """Say that a number is no entropy of so many keys."""
    got, keys = whole(seen), seen.inputs["args"][0].size(-1)
    if got.min() < -CLOSE:
        return f"One entropy is {got.min():.3g}, but the entropy of weights is never negative."
    if got.max() > math.log(keys) + CLOSE:
        return f"One entropy is {got.max():.3g} nats; with {keys} keys it is ln {keys} = {math.log(keys):.3g} at most."
    return "All of these could be entropies, but they are not those of the rows: does each term have its weight?"


symptoms = (_not_finite, constant_factor(whole, wanted), _out_of_range)
judge = agrees(*symptoms)


def add_entropy(lesson: Lesson) -> None:
    """Declare the exercise, its cases and its misconceptions."""
    exercise = lesson.exercise(
        "attention-entropy", 2, "attention_entropy", reference=reference.attention_entropy
    )

    @exercise.case("an entropy, in nats, for every query of every head", judge=judge, weight=2)
    def heads(draw: Draw) -> Stimulus:
        return call(draw.normal(3, 4, 5, 7).softmax(dim=-1))

    @exercise.case("a single matrix, without layers and heads", judge=judge)
    def matrix(draw: Draw) -> Stimulus:
        return call(draw.normal(6, 4, scale=2.0).softmax(dim=-1))

    @exercise.case("weights of exactly 0 count for nothing", judge=judge)
    def zeros(draw: Draw) -> Stimulus:
        hidden = torch.ones(6, 6).triu(1).bool()
        return call(draw.normal(2, 6, 6).masked_fill(hidden, float("-inf")).softmax(dim=-1))

    @exercise.case("a query that may attend to nothing has entropy 0", judge=judge, weight=0.5)
    def nothing(draw: Draw) -> Stimulus:
        weights = draw.normal(2, 4, 5).softmax(dim=-1)
        weights[0, 2] = 0.0
        return call(weights)

    @exercise.case("all on one key gives 0, evenly over N keys gives ln N", judge=judge)
    def extremes(_draw: Draw) -> Stimulus:
        return call(
            torch.stack([torch.eye(5)[2], torch.full((5,), 0.2), torch.tensor([0.5, 0.5, 0, 0, 0])])
        )

    @exercise.case("float64, and the weights stay as they are", judge=unchanged(*symptoms))
    def double(draw: Draw) -> Stimulus:
        weights = draw.normal(2, 3, 5, 5).softmax(dim=-1)
        weights[0, 0] = torch.eye(5)
        return call(weights.double())

    _add_misconceptions(exercise)


def _add_misconceptions(exercise: Exercise) -> None:
    mistake = exercise.misconception
    mistake("nan", "0 · log 0 comes out as NaN",
            "log(0) is −∞, and 0 · −∞ is NaN. Replace something before, or after.",
            edits={LOGS: "logs = weights.log()"})  # fmt: skip
    mistake("sign", "The sign is missing", "The logarithm of a weight below 1 is negative; an entropy is not.",
            edits={"return -(": "return ("})  # fmt: skip
    mistake("bits", "The entropy is measured in bits, not in nats", "Nats belong to the natural logarithm.",
            edits={").log()": ").log2()"})  # fmt: skip
    mistake("log-ten", "The logarithm to base 10 is taken", "Nats belong to the natural logarithm.",
            edits={").log()": ").log10()"})  # fmt: skip
    mistake("mean", "The terms are averaged, not summed", "An entropy is an expected value: the weights do the averaging.",
            edits={".sum(dim=-1)": ".mean(dim=-1)"})  # fmt: skip
    mistake("over-queries", "The sum runs over the queries, not over the keys",
            "Each query has a distribution over keys; along which dimension does it lie?",
            edits={".sum(dim=-1)": ".sum(dim=-2)"})  # fmt: skip
    mistake("one-number", "The queries are summed or averaged too", "(…, Tq): one entropy for each query.",
            edits={".sum(dim=-1)": ".sum()"},
            also=[{".sum(dim=-1)": ".sum(dim=-1).mean(dim=-1)"}, {".sum(dim=-1)": ".sum(dim=-1).mean()"},
                  {".sum(dim=-1)": ".sum(dim=(-2, -1))"}])  # fmt: skip
    mistake("normalised", "The entropy is divided by that of the uniform distribution",
            "Nats are asked for: evenly over 5 keys is ln 5, not 1.",
            edits={RETURN: f"{RETURN} / math.log(weights.size(-1))"})  # fmt: skip
    mistake("not-weighted", "The logarithms are not weighted", "Each −log w counts with its own weight w.",
            edits={"(weights * logs)": "(logs)"}, also=[{"(weights * logs)": "(weights.log())"}])  # fmt: skip
    mistake("softmax-again", "A second softmax is taken over the weights", "These are weights already.",
            edits={LOGS: f"weights = weights.softmax(dim=-1)\n    {LOGS}"})  # fmt: skip
    mistake("large-epsilon", "A number is added inside the logarithm that is too large to be harmless",
            "What does a weight of exactly 0 contribute then, and a weight of 1?",
            edits={LOGS: "logs = (weights + 1e-2).log()"},
            also=[{LOGS: "logs = (weights + 1e-3).log()"}, {LOGS: "logs = (weights + 1).log()"}])  # fmt: skip
    mistake("perplexity", "exp of the entropy is returned", "That is the perplexity; the entropy itself is asked for.",
            edits={RETURN: "return (-(weights * logs).sum(dim=-1)).exp()"})  # fmt: skip
    mistake("in-place", "The weights are changed in place", "`clamp_` and `+=` write into the caller's tensor.",
            edits={LOGS: f"weights.clamp_(min=1e-9)\n    {LOGS}"})  # fmt: skip
