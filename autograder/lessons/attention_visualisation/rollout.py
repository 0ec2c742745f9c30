"""Checks of `attention_rollout`."""

import torch

from autograder.judge.draw import Draw
from autograder.judge.exercise import Exercise, Lesson, Stimulus, call
from autograder.judge.judgement import Seen, agrees, unchanged
from autograder.judge.symptoms import transposed, whole
from autograder.lessons.attention_visualisation import reference
from autograder.lessons.attention_visualisation.previous import attentions

START = "rollout = identity  # nothing has been mixed yet"
MIX = "mixed = 0.5 * layer.mean(dim=0) + 0.5 * identity"
NORM = "mixed = mixed / mixed.sum(dim=-1, keepdim=True)"
STEP = "rollout = mixed @ rollout"


def _rows_sum(seen: Seen) -> str | None:
    """Say when rows do not sum to one."""
    sums = whole(seen).sum(dim=-1)
    row = int((sums - 1).abs().argmax())
    if (sums[row] - 1).abs() < 1e-3:
        return None
    return f"Each row of the rollout should sum to 1; row {row} sums to {sums[row]:.3g}."


def _own_share(seen: Seen) -> str | None:
    """Say when the positions keep too much or too little of their own word."""
    got, layers = whole(seen).diagonal(), seen.inputs["args"][0].size(0)
    if got.min() < 0.5**layers - 1e-4:
        return f"A position keeps {got.min():.3f} of its own word; half of it stays in each of {layers} layers, so at least {0.5**layers:.3f}."
    return "Rows sum to 1, but the shares are not right: look at the mixing within a layer, and at the order of the product."


symptoms = (transposed, _rows_sum, _own_share)
judge = agrees(*symptoms)


def add_rollout(lesson: Lesson) -> None:
    """Declare the exercise, its cases and its misconceptions."""
    exercise = lesson.exercise(
        "attention-rollout", 3, "attention_rollout", reference=reference.attention_rollout
    )

    @exercise.case("three layers of four heads", judge=judge, weight=2)
    def three_layers(draw: Draw) -> Stimulus:
        return call(attentions(draw, 3, 4, 6))

    @exercise.case("two layers: the later one stands on the left of the product", judge=judge)
    def order(draw: Draw) -> Stimulus:
        return call(attentions(draw, 2, 3, 5) ** 3 * 2)

    @exercise.case("one layer: half its mean, half the identity", judge=judge)
    def one_layer(draw: Draw) -> Stimulus:
        return call(attentions(draw, 1, 3, 5))

    @exercise.case("causal weights: nothing flows back from later tokens", judge=judge)
    def causal(draw: Draw) -> Stimulus:
        hidden = torch.ones(6, 6).triu(1).bool()
        scores = draw.normal(3, 2, 6, 6).masked_fill(hidden, float("-inf"))
        return call(scores.softmax(dim=-1))

    @exercise.case(
        "rows are renormalised: a head may give a query zero weights throughout", judge=judge
    )
    def zero_rows(draw: Draw) -> Stimulus:
        weights = attentions(draw, 3, 2, 5)
        weights[0, :, 1] = 0.0
        weights[1, 0, 3] = 0.0
        return call(weights)

    @exercise.case("as many layers as heads as tokens", judge=judge, weight=0.5)
    def square(draw: Draw) -> Stimulus:
        return call(attentions(draw, 4, 4, 4))

    @exercise.case("float64, and the weights stay as they are", judge=unchanged(*symptoms))
    def double(draw: Draw) -> Stimulus:
        return call(attentions(draw, 2, 3, 4).double())

    _add_mixing(exercise)
    _add_products(exercise)


def _add_mixing(exercise: Exercise) -> None:
    mistake = exercise.misconception
    mistake("no-identity", "The identity is left out: the skip connections are missing",
            "What reaches a layer's output without any attention?",
            edits={MIX: "mixed = layer.mean(dim=0)"},
            also=[{MIX: "mixed = layer.mean(dim=0)", NORM: "pass"}])  # fmt: skip
    mistake("not-renormalised", "The rows are not renormalised",
            "After mixing each row should sum to 1, whatever it did before.", edits={NORM: "pass"})  # fmt: skip
    mistake("identity-not-halved", "The whole identity is added, and the rows are not renormalised",
            "Each row then sums to 2 in every layer.",
            edits={MIX: "mixed = layer.mean(dim=0) + identity", NORM: "pass"})  # fmt: skip
    mistake("other-shares", "Attention and identity are not mixed half and half",
            "Abnar and Zuidema take 0.5 of each.",
            edits={MIX: "mixed = 0.9 * layer.mean(dim=0) + 0.1 * identity"},
            also=[{MIX: "mixed = 0.1 * layer.mean(dim=0) + 0.9 * identity"},
                  {MIX: "mixed = layer.mean(dim=0) + 0.5 * identity"},
                  {MIX: "mixed = 0.5 * layer.mean(dim=0) + identity"},
                  {MIX: "mixed = 0.5 * layer.sum(dim=0) + 0.5 * identity"},
                  {MIX: "mixed = layer.sum(dim=0) + identity"}])  # fmt: skip
    mistake("sum-of-heads", "The heads are summed, not averaged", "With four heads their sum outweighs the identity.",
            edits={MIX: "mixed = 0.5 * layer.sum(dim=0) + 0.5 * identity", NORM: "pass"})  # fmt: skip
    mistake("largest-head", "The largest head is taken, not the mean over heads",
            "Some later papers do so; here it is the mean.",
            edits={"layer.mean(dim=0)": "layer.amax(dim=0)"})  # fmt: skip
    mistake("smallest-head", "The smallest head is taken, not the mean over heads",
            "Some later papers do so; here it is the mean.",
            edits={"layer.mean(dim=0)": "layer.amin(dim=0)"})  # fmt: skip
    mistake("first-head", "Only the first head is used", "The mean over all heads is asked for.",
            edits={"layer.mean(dim=0)": "layer[0]"})  # fmt: skip
    mistake("columns-renormalised", "The columns are renormalised, not the rows",
            "Row i says where position i has its information from; that is what sums to 1.",
            edits={NORM: "mixed = mixed / mixed.sum(dim=-2, keepdim=True)"})  # fmt: skip
    mistake("normalised-as-a-whole", "The matrix is divided by its total, not each row by its own",
            "keepdim=True, and a sum along one dimension.",
            edits={NORM: "mixed = mixed / mixed.sum()"}, also=[{NORM: "mixed = mixed / mixed.amax(dim=-1, keepdim=True)"}])  # fmt: skip
    mistake("softmax", "The rows are renormalised by a softmax",
            "Dividing by the sum keeps proportions; a softmax does not.",
            edits={NORM: "mixed = mixed.softmax(dim=-1)"})  # fmt: skip


def _add_products(exercise: Exercise) -> None:
    mistake = exercise.misconception
    mistake("order", "The factors stand in the wrong order: the first layer is on the left",
            "The last layer reads what the layers before it have made. Which matrix meets the input first?",
            edits={STEP: "rollout = rollout @ mixed"})  # fmt: skip
    mistake("element-by-element", "The layers are multiplied element by element",
            "Information goes from i to j by way of every k: that sum over k is a matrix product.",
            edits={STEP: "rollout = mixed if rollout is identity else mixed * rollout"},
            also=[{STEP: "rollout = mixed * rollout"},
                  {STEP: "rollout = mixed * rollout", START: "rollout = torch.ones_like(identity)"}])  # fmt: skip
    mistake("averaged-over-layers", "The layers are averaged, not multiplied",
            "A path leads through every layer, one after the other.",
            edits={START: "rollout = torch.zeros_like(identity)", STEP: "rollout = rollout + mixed / len(attentions)"},
            also=[{START: "rollout = torch.zeros_like(identity)", STEP: "rollout = rollout + mixed"}])  # fmt: skip
    mistake("last-layer-only", "Only the last layer is returned", "Its input is mixed already, by the layers below.",
            edits={STEP: "rollout = mixed"}, also=[{STEP: "rollout = layer.mean(dim=0)"}])  # fmt: skip
    mistake("first-layer-left-out", "The first layer is left out", "Start from the identity, and take every layer.",
            edits={"for layer in attentions:": "for layer in attentions[1:]:"})  # fmt: skip
    mistake("last-layer-left-out", "The last layer is left out", "Take every layer.",
            edits={"for layer in attentions:": "for layer in attentions[:-1]:"})  # fmt: skip
    mistake("transposed", "The result is transposed", "Rows are positions of the output, columns those of the input.",
            edits={"return rollout": "return rollout.T"})  # fmt: skip
    mistake("all-steps", "The product after each layer is returned, not just the last",
            "(S, S) is asked for.",
            edits={START: f"{START}\n    steps = []", STEP: f"{STEP}\n        steps.append(rollout)",
                   "return rollout": "return torch.stack(steps)"})  # fmt: skip
    mistake("heads-kept", "The heads are not averaged: one rollout for each",
            "Which of the four dimensions has to go first?",
            edits={"layer.mean(dim=0)": "layer"})  # fmt: skip
