"""Checks of `previous_token_score`."""

import torch

from autograder.judge.draw import Draw
from autograder.judge.exercise import Exercise, Lesson, Stimulus, call
from autograder.judge.judgement import Seen, agrees, unchanged
from autograder.judge.symptoms import constant_factor, transposed, wanted, whole
from autograder.lessons.attention_visualisation import reference

DIAGONAL = "attentions.diagonal(offset=-1, dim1=-2, dim2=-1)"
MEAN = ".mean(dim=-1)"


def _no_such_mean(seen: Seen) -> str | None:
    """Say which head's number is not a mean of the weights that go one token back."""
    got, want = whole(seen), wanted(seen)
    layer, head = (int(place) for place in (~torch.isclose(got, want, atol=1e-4)).nonzero()[0])
    steps = seen.inputs["args"][0][layer, head].diagonal(offset=-1)
    return (
        f"Head {head} of layer {layer} scores {got[layer, head]:.3f} with you; the weights from i to i − 1 lie between "
        f"{steps.min():.3f} and {steps.max():.3f}, and their mean is another number."
    )


symptoms = (constant_factor(whole, wanted), transposed, _no_such_mean)
judge = agrees(*symptoms)


def attentions(draw: Draw, layers: int, heads: int, size: int) -> torch.Tensor:
    """Return rows of weights (L, H, S, S) that sum to one."""
    return draw.normal(layers, heads, size, size, scale=1.5).softmax(dim=-1)


def add_previous(lesson: Lesson) -> None:
    """Declare the exercise, its cases and its misconceptions."""
    exercise = lesson.exercise(
        "previous-token-score", 2, "previous_token_score", reference=reference.previous_token_score
    )

    @exercise.case("a score for every head of every layer", judge=judge, weight=2)
    def heads(draw: Draw) -> Stimulus:
        return call(attentions(draw, 3, 4, 7))

    @exercise.case("as many layers as heads as tokens", judge=judge)
    def square(draw: Draw) -> Stimulus:
        return call(attentions(draw, 4, 4, 4))

    @exercise.case("two tokens: a single one has another before it", judge=judge)
    def two_tokens(draw: Draw) -> Stimulus:
        return call(attentions(draw, 2, 3, 2))

    @exercise.case("a head that always looks one token back scores 1", judge=judge, weight=0.5)
    def perfect(_draw: Draw) -> Stimulus:
        back = torch.zeros(1, 1, 6, 6)
        back[0, 0, range(6), [0, *range(5)]] = 1.0  # the first token reads itself
        return call(back)

    @exercise.case("float64, and the weights stay as they are", judge=unchanged(*symptoms))
    def double(draw: Draw) -> Stimulus:
        return call(attentions(draw, 2, 5, 6).double())

    _add_misconceptions(exercise)


def _add_misconceptions(exercise: Exercise) -> None:
    mistake = exercise.misconception
    row = "Rows are queries. In row i, which column is token i − 1?"
    mistake("next-token", "The weight that goes to the next token is measured", row,
            edits={"offset=-1": "offset=1"}, also=[{"offset=-1, dim1=-2, dim2=-1": "offset=-1, dim1=-1, dim2=-2"}])  # fmt: skip
    mistake("own-token", "The weight that each token gives to itself is measured", row,
            edits={"offset=-1": "offset=0"})  # fmt: skip
    mistake("two-back", "The weight that goes two tokens back is measured", row,
            edits={"offset=-1": "offset=-2"})  # fmt: skip
    mistake("first-counted", "The sum is divided by S, although the first token has none before it",
            "How many positions i ≥ 1 are there?",
            edits={MEAN: ".sum(dim=-1) / attentions.size(-1)"})  # fmt: skip
    mistake("wraps-round", "The first token is taken to have the last one before it",
            "`roll` and negative indices go round in a circle; a sentence does not.",
            edits={MEAN: ".sum(dim=-1).add(attentions[..., 0, -1]) / attentions.size(-1)"})  # fmt: skip
    mistake("sum", "The weights are summed, not averaged", "The score of a long sentence should not be larger.",
            edits={MEAN: ".sum(dim=-1)"})  # fmt: skip
    mistake("largest", "The largest weight is taken, not the mean", "One pair of tokens does not make a habit.",
            edits={MEAN: ".amax(dim=-1)"})  # fmt: skip
    mistake("counted", "It is counted how often the previous token gets most, not how much it gets",
            "A mean of weights is asked for: 0.4 counts as 0.4, whoever comes first.",
            edits={f"{DIAGONAL}{MEAN}": "(attentions.argmax(dim=-1)[..., 1:] == torch.arange(attentions.size(-1) - 1)).to(attentions.dtype).mean(dim=-1)"},
            also=[{f"{DIAGONAL}{MEAN}": "(attentions.argmax(dim=-1)[..., 1:] == torch.arange(attentions.size(-1) - 1)).float().mean(dim=-1)"}])  # fmt: skip
    mistake("heads-averaged", "The heads are averaged", "(L, H): one score for each head.",
            edits={MEAN: ".mean(dim=-1).mean(dim=-1)"}, also=[{MEAN: ".mean(dim=(1, 2))"}])  # fmt: skip
    mistake("one-number", "One number comes back for the whole model", "(L, H): one score for each head.",
            edits={MEAN: ".mean()"}, also=[{MEAN: ".mean().item()"}])  # fmt: skip
    mistake("not-averaged", "The positions are not averaged", "(L, H): the mean over all i ≥ 1.",
            edits={MEAN: ""})  # fmt: skip
    mistake("exchanged", "Layers and heads are exchanged", "(L, H): rows are layers.",
            edits={MEAN: ".mean(dim=-1).T"})  # fmt: skip
    mistake("all-before", "The weight on all earlier tokens is measured, not on the previous one",
            "Only i − 1: how many entries of row i are that?",
            edits={f"{DIAGONAL}{MEAN}": "attentions.tril(-1).sum(dim=-1)[..., 1:].mean(dim=-1)"})  # fmt: skip
    mistake("first-row-left-out-wrongly", "The weights that the first token gets are left out, not those it gives",
            "Position 0 has no previous token: it is query 0 that drops out, and the previous token may well be token 0.",
            edits={f"{DIAGONAL}{MEAN}": "attentions[..., 1:, 1:].diagonal(offset=-1, dim1=-2, dim2=-1).sum(dim=-1) / (attentions.size(-1) - 1)"})  # fmt: skip
