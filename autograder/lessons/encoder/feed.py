"""Checks of `FeedForward`."""

import torch

from autograder.judge.draw import Draw
from autograder.judge.exercise import Exercise, Lesson, Stimulus, module
from autograder.judge.judgement import Seen, agrees
from autograder.judge.symptoms import whole
from autograder.lessons.encoder import reference
from autograder.lessons.encoder.asking import NEARLY_ALL, Weights, double, learning
from autograder.lessons.encoder.symptoms import it_learns, outputs, samples_mix, untouched

HIDDEN = "hidden = F.relu(self.linear1(x))"
DROP = "hidden = self.dropout(hidden)"
RETURN = "return self.linear2(hidden)"
FIRST, SECOND = "nn.Linear(d_model, d_ff)", "nn.Linear(d_ff, d_model)"


def add_feed_forward(lesson: Lesson) -> None:
    """Declare the exercise, its cases and its misconceptions."""
    exercise = lesson.exercise("feed-forward", 3, "FeedForward", reference=reference.FeedForward)
    _add_cases(exercise)
    _add_dropout_cases(exercise)
    _about_the_formula(exercise)
    _about_dropout(exercise)
    _about_layers(exercise)


def _weights(draw: Draw, width: int, hidden: int) -> Weights:
    return draw.linear("linear1", width, hidden) | draw.linear("linear2", hidden, width)


def _never_negative(seen: Seen) -> str | None:
    if (whole(seen) >= 0).all():
        return "No output is negative, though some should be: is there a ReLU after linear2?"
    return None


def _positions_mix(seen: Seen) -> str | None:
    sentence, token = outputs(seen)
    if torch.allclose(sentence[:, 2:3], token, atol=1e-4):
        return None
    return "Token 2 gives one result in its sentence and another alone: tokens are mixed with each other."


def _it_is_linear(seen: Seen) -> str | None:
    (both, one, other, nothing) = outputs(seen)
    if torch.allclose(both - one - other + nothing, torch.zeros(1), atol=1e-4):
        return "The result is linear in x: two linear layers with nothing between them are one. Is there a ReLU?"
    return None


def _add_cases(exercise: Exercise) -> None:
    @exercise.case("linear, ReLU, linear", judge=agrees(_never_negative), weight=2)
    def formula(draw: Draw) -> Stimulus:
        return module([6, 11], _weights(draw, 6, 11), [draw.normal(3, 5, 6)])

    @exercise.case("the ReLU makes it more than a linear map", judge=agrees(_it_is_linear))
    def not_linear(draw: Draw) -> Stimulus:
        one, other = draw.normal(2, 3, 5, scale=2), draw.normal(2, 3, 5, scale=2)
        calls = [[x] for x in (one + other, one, other, torch.zeros(2, 3, 5))]
        return module([5, 9], _weights(draw, 5, 9), *calls)

    @exercise.case("every position is treated by itself, and alike", judge=agrees(_positions_mix))
    def positions(draw: Draw) -> Stimulus:
        x = draw.normal(3, 5, 6)
        return module([6, 8], _weights(draw, 6, 8), [x], [x[:, 2:3]])

    @exercise.case(
        "a sample gives the same alone and in a batch; d_ff may be less than d_model",
        judge=agrees(samples_mix),
    )
    def alone(draw: Draw) -> Stimulus:
        x = draw.normal(3, 4, 7)
        return module([7, 5], _weights(draw, 7, 5), [x], [x[:1]])

    @exercise.case("gradients reach both layers and x", judge=it_learns)
    def learns(draw: Draw) -> Stimulus:
        return learning(
            module([6, 9], _weights(draw, 6, 9), [draw.normal(2, 5, 6)], dropout=0.0),
            draw.normal(2, 5, 6),
        )

    @exercise.case(
        "it works in float64, and leaves x as it is", judge=untouched(["x"], _never_negative)
    )
    def arguments(draw: Draw) -> Stimulus:
        return double(module([5, 8], _weights(draw, 5, 8), [draw.normal(2, 3, 5).double()]))


def _still_there(seen: Seen) -> str | None:
    """Say what is wrong when (nearly) every hidden feature is dropped, but more remains than a bias."""
    got = whole(seen)
    bias = seen.inputs["weights"]["linear2.bias"]
    if not got.any():
        return "With dropout near 1 nothing at all is left, not even the bias of linear2: what comes after linear2?"
    tokens = got.flatten(0, -2)
    if torch.allclose(tokens, tokens[:1].expand_as(tokens), atol=1e-3):
        return "With dropout near 1 only the bias of linear2 should be left. Is x dropped, and not the hidden features?"
    if torch.isclose(got, bias, atol=1e-3).float().mean() < 0.5:
        return "With dropout near 1 only the bias of linear2 should be left in train mode: is dropout between the layers?"
    return None


def _dropped_needlessly(_seen: Seen) -> str | None:
    return "Something is dropped here, or drawn at random, that should not be: which dropout is used, and in which mode?"


def _add_dropout_cases(exercise: Exercise) -> None:
    @exercise.case("nothing is dropped in eval mode", judge=agrees(_dropped_needlessly))
    def dropout_off(draw: Draw) -> Stimulus:
        return module([6, 9, NEARLY_ALL], _weights(draw, 6, 9), [draw.normal(3, 5, 6)])

    @exercise.case(
        "in train mode the hidden features are dropped, between the two layers",
        judge=agrees(_still_there),
    )
    def dropout_on(draw: Draw) -> Stimulus:
        return module([6, 9, NEARLY_ALL], _weights(draw, 6, 9), [draw.normal(3, 5, 6)], train=True)

    @exercise.case(
        "dropout 0 drops nothing in train mode", judge=agrees(_dropped_needlessly), weight=0.5
    )
    def dropout_none(draw: Draw) -> Stimulus:
        return module([8, 30, 0.0], _weights(draw, 8, 30), [draw.normal(3, 20, 8)], train=True)

    @exercise.case(
        "dropout drops the share that is asked for, and scales up what is left",
        judge=agrees(_share),
        weight=0.5,
    )
    def dropout_share(_draw: Draw) -> Stimulus:
        return _survivors([8, 8, 0.6])

    @exercise.case("unless told otherwise a tenth is dropped", judge=agrees(_share), weight=0.5)
    def dropout_default(_draw: Draw) -> Stimulus:
        return _survivors([8, 8])


def _survivors(init: list[float]) -> Stimulus:
    """Ask what is left where every hidden feature is 1, and linear2 hands each on as it is."""
    weights = {"linear1.weight": torch.zeros(8, 8), "linear1.bias": torch.ones(8)}
    weights |= {"linear2.weight": torch.eye(8), "linear2.bias": torch.zeros(8)}
    asked = module(init, weights, [torch.ones(10, 40, 8)], train=True)
    return Stimulus("block_survivors", asked.inputs)


def _share(seen: Seen) -> str | None:
    scale, wanted = seen.got.value["scale"], seen.expected.value["scale"]
    if not seen.got.value["some dropped"]:
        return "Nothing is dropped in train mode."
    share, meant = 1 - 1 / scale, 1 - 1 / wanted
    return f"What is left is scaled by {scale:.3g}, as if {share:.0%} were dropped; it should be {meant:.0%}."


def _about_the_formula(exercise: Exercise) -> None:
    mistake = exercise.misconception
    mistake("no-relu", "There is no ReLU: the two layers are one linear map",
            "W₂(W₁x) is (W₂W₁)x. What keeps the two from being one?", edits={HIDDEN: "hidden = self.linear1(x)"})  # fmt: skip
    mistake("relu-at-the-end", "The ReLU comes after linear2, not between the layers",
            "max(0, x W₁ + b₁) W₂ + b₂: which product is inside the maximum?",
            edits={HIDDEN: "hidden = self.linear1(x)", RETURN: "return F.relu(self.linear2(hidden))"})  # fmt: skip
    mistake("relu-twice", "There is a second ReLU, after linear2",
            "What a layer adds to its input may be negative.", edits={RETURN: "return F.relu(self.linear2(hidden))"})  # fmt: skip
    mistake("relu-first", "The ReLU is applied to x, before linear1",
            "max(0, x W₁ + b₁): what is inside the maximum?", edits={HIDDEN: "hidden = self.linear1(F.relu(x))"})  # fmt: skip
    other = "The paper's equation 2 has a maximum with 0."
    mistake("gelu", "GELU is used instead of ReLU", f"{other} GELU came later, with GPT and BERT.", edits={"F.relu(": "F.gelu("},
            also=[{HIDDEN: 'hidden = F.gelu(self.linear1(x), approximate="tanh")'}])  # fmt: skip
    mistake("other-activation", "Another function than ReLU is used", other, edits={"F.relu(": "torch.tanh("},
            also=[{"F.relu(": f"{function}("} for function in ("torch.sigmoid", "F.leaky_relu", "F.silu", "F.elu", "F.softplus")])  # fmt: skip
    mistake("softmaxed", "There is a softmax where the ReLU should be", "Nothing has to sum to 1 here.",
            edits={"F.relu(self.linear1(x))": "torch.softmax(self.linear1(x), dim=-1)"})  # fmt: skip
    mistake("residual", "The input is added to the output",
            "The skip connection goes around this network, in EncoderLayer, not in it.",
            edits={RETURN: "return x + self.linear2(hidden)"})  # fmt: skip
    mistake("normed", "The output is normalised", "The norm comes in EncoderLayer, not here.",
            edits={RETURN: "return F.layer_norm(self.linear2(hidden), x.shape[-1:])"})  # fmt: skip
    mistake("residual-and-norm", "The input is added to the output, and the sum normalised",
            "Both come in EncoderLayer, around this network.",
            edits={RETURN: "return F.layer_norm(x + self.linear2(hidden), x.shape[-1:])"})  # fmt: skip


def _about_dropout(exercise: Exercise) -> None:
    mistake = exercise.misconception
    between = "Dropout belongs between the two layers: linear2's output is dropped in EncoderLayer."
    mistake("dropout-missing", "There is no dropout", between, edits={DROP: ""})  # fmt: skip
    mistake("dropout-at-the-end", "Dropout comes after linear2, not between the layers", between,
            edits={DROP: "", RETURN: "return self.dropout(self.linear2(hidden))"})  # fmt: skip
    mistake("dropout-twice", "There is a second dropout, after linear2", between,
            edits={RETURN: "return self.dropout(self.linear2(hidden))"})  # fmt: skip
    mistake("dropout-of-x", "The input is dropped, not the hidden features", between,
            edits={DROP: "", HIDDEN: "hidden = F.relu(self.linear1(self.dropout(x)))"})  # fmt: skip
    mistake("dropout-in-eval", "Dropout is live in eval mode as well",
            "F.dropout does not know the mode unless it is told; nn.Dropout does.",
            edits={DROP: "hidden = F.dropout(hidden, self.dropout.p)"})  # fmt: skip
    mistake("dropout-fixed", "The argument dropout is ignored: a fixed share is dropped",
            "Build one with dropout=0.0 and call it twice in train mode.",
            edits={"nn.Dropout(dropout)": "nn.Dropout(0.1)"},
            also=[{"nn.Dropout(dropout)": f"nn.Dropout({p})"} for p in ("0.2", "0.5")])  # fmt: skip
    mistake("dropout-keeps", "`dropout` is taken for the share that is kept",
            "nn.Dropout(p) drops a share p.", edits={"nn.Dropout(dropout)": "nn.Dropout(1 - dropout)"})  # fmt: skip


def _about_layers(exercise: Exercise) -> None:
    mistake = exercise.misconception
    widths = "linear1 leads from d_model to d_ff, linear2 back from d_ff to d_model."
    mistake("d-ff-ignored", "Both layers are d_model wide: d_ff is not used", widths,
            edits={FIRST: "nn.Linear(d_model, d_model)", SECOND: "nn.Linear(d_model, d_model)"})  # fmt: skip
    mistake("widths-exchanged", "The widths of linear1 and linear2 are exchanged", widths,
            edits={f"self.linear1 = {FIRST}": f"self.linear1 = {SECOND}", f"self.linear2 = {SECOND}": f"self.linear2 = {FIRST}"})  # fmt: skip
    mistake("stays-wide", "linear2 does not lead back to d_model", widths,
            edits={SECOND: "nn.Linear(d_ff, d_ff)"})  # fmt: skip
    mistake("four-times", "The hidden width is 4 · d_model, whatever d_ff is", widths,
            edits={FIRST: "nn.Linear(d_model, 4 * d_model)", SECOND: "nn.Linear(4 * d_model, d_model)"})  # fmt: skip
    mistake("no-bias", "The layers have no bias", "nn.Linear as it comes has one; leave it in.",
            edits={FIRST: "nn.Linear(d_model, d_ff, bias=False)", SECOND: "nn.Linear(d_ff, d_model, bias=False)"})  # fmt: skip
    mistake("made-in-forward", "linear2 is made anew at each call: it never learns",
            "Parts that learn are made once, in __init__.",
            edits={RETURN: "return nn.Linear(hidden.size(-1), x.size(-1))(hidden)"})  # fmt: skip
    mistake("exchanged-with-batch", "The tokens of a sentence are mixed: they are normalised or averaged together",
            "No token may notice another here; every position is treated by itself.",
            edits={HIDDEN: "hidden = F.relu(self.linear1(x)).mean(dim=-2, keepdim=True).expand(*x.shape[:-1], -1)"})  # fmt: skip
    mistake("in-place", "The input is changed in place",
            "An operation that ends in an underscore, or `*=`, writes into the caller's tensor.",
            edits={HIDDEN: "with torch.no_grad():\n            x.relu_()\n        hidden = F.relu(self.linear1(x))"})  # fmt: skip
