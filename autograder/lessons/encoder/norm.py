"""Checks of `LayerNorm`."""

import torch

from autograder.judge.draw import Draw
from autograder.judge.exercise import Exercise, Lesson, Stimulus, module
from autograder.judge.judgement import agrees
from autograder.lessons.encoder import reference
from autograder.lessons.encoder.asking import double, learning, norm_weights
from autograder.lessons.encoder.symptoms import (
    it_learns,
    not_standard,
    samples_mix,
    untouched,
    weights_unused,
)

LIBRARY = "PyTorch's own layer norm does the work here; write the mean, the variance and the formula yourself."
MEAN = "x.mean(dim=-1, keepdim=True)"
VARIANCE = "x.var(dim=-1, keepdim=True, unbiased=False)"
ROOT = "torch.sqrt(variance + self.eps)"
NORMED = f"normed = (x - mean) / {ROOT}"
RETURN = "return self.weight * normed + self.bias"
ONES, ZEROS = "nn.Parameter(torch.ones(d_model))", "nn.Parameter(torch.zeros(d_model))"
judge = agrees(weights_unused(), not_standard)


def add_norm(lesson: Lesson) -> None:
    """Declare the exercise, its cases and its misconceptions."""
    exercise = lesson.exercise(
        "layer-norm", 3, "LayerNorm", reference=reference.LayerNorm,
        forbidden=dict.fromkeys(("layer_norm", "native_layer_norm"), LIBRARY),
    )  # fmt: skip
    _add_cases(exercise)
    _about_the_formula(exercise)
    _about_dimensions(exercise)
    _about_parameters(exercise)


def _add_cases(exercise: Exercise) -> None:
    @exercise.case(
        "each token's features are brought to mean 0 and variance 1, then scaled and shifted",
        judge=judge,
        weight=2,
    )
    def tokens(draw: Draw) -> Stimulus:
        return module([7], norm_weights(draw, "", 7), [draw.normal(3, 5, 7, scale=2) + 1])

    @exercise.case("few features: the variance divides by their number", judge=judge)
    def narrow(draw: Draw) -> Stimulus:
        return module([4], norm_weights(draw, "", 4), [draw.normal(2, 6, 4)])

    @exercise.case("eps is the one that is asked for, and stands under the root", judge=judge)
    def large_eps(draw: Draw) -> Stimulus:
        return module([6], norm_weights(draw, "", 6), [draw.normal(2, 3, 6, scale=0.7)], eps=0.5)

    @exercise.case("a token whose features are all equal gives the bias, not NaN", judge=judge)
    def constant(draw: Draw) -> Stimulus:
        x = draw.normal(2, 3, 8)
        x[0, 1] = 2.0
        return module([8], norm_weights(draw, "", 8), [x])

    @exercise.case("any number of dimensions may stand before the features", judge=judge)
    def other_dimensions(draw: Draw) -> Stimulus:
        calls = [[draw.normal(*lead, 6)] for lead in ((5,), (2, 3, 4))]
        return module([6], norm_weights(draw, "", 6), *calls)

    @exercise.case("a sample gives the same alone and in a batch", judge=agrees(samples_mix))
    def alone(draw: Draw) -> Stimulus:
        x = draw.normal(3, 5, 6) * torch.tensor([1.0, 3.0, 0.3])[:, None, None]
        return module([6], norm_weights(draw, "", 6), [x], [x[:1]])

    @exercise.case("weight starts at ones, bias at zeros", weight=0.5)
    def start(_draw: Draw) -> Stimulus:
        return Stimulus("block_start", {**module([5], {}).inputs, "paths": ["weight", "bias"]})

    @exercise.case("weight and bias learn, and gradients pass through to x", judge=it_learns)
    def learns(draw: Draw) -> Stimulus:
        return learning(
            module([6], norm_weights(draw, "", 6), [draw.normal(2, 5, 6)]), draw.normal(2, 5, 6)
        )

    @exercise.case(
        "it works in float64, and leaves x as it is",
        judge=untouched(["x"], weights_unused(), not_standard),
    )
    def arguments(draw: Draw) -> Stimulus:
        return double(module([5], norm_weights(draw, "", 5), [draw.normal(2, 3, 5).double()]))


def _about_the_formula(exercise: Exercise) -> None:
    mistake = exercise.misconception
    mistake("unbiased-variance", "The variance divides by D − 1, not by D",
            "`var` and `std` divide by D − 1 unless told otherwise; the difference shows when D is small.",
            edits={"unbiased=False": "unbiased=True"})  # fmt: skip
    mistake("eps-outside", "eps is added to the standard deviation, outside the root",
            "√(σ² + ε): what stands under the root?",
            edits={ROOT: "(torch.sqrt(variance) + self.eps)"})  # fmt: skip
    mistake("eps-missing", "eps is not used: a constant token divides zero by zero",
            "Normalise a token whose features are all 2.", edits={"variance + self.eps": "variance"})  # fmt: skip
    mistake("eps-ignored", "The argument eps is ignored: a fixed number is used",
            "Build one with eps=0.5 and compare with nn.LayerNorm.",
            edits={"self.eps = eps": "self.eps = 1e-5"},
            also=[{"self.eps = eps": f"self.eps = {other}"} for other in ("1e-6", "1e-8", "1e-12")])  # fmt: skip
    mistake("eps-squared", "eps is squared before it is added to the variance",
            "Under the root stands the variance plus eps itself.", edits={"variance + self.eps": "variance + self.eps**2"})  # fmt: skip
    mistake("divided-by-variance", "x − mean is divided by the variance, not by its root",
            "A variance has the unit of x squared; what has the unit of x?",
            edits={ROOT: "(variance + self.eps)"})  # fmt: skip
    mistake("mean-kept", "The mean is not subtracted",
            "Print the mean of one normalised token, with weight 1 and bias 0.", edits={"(x - mean)": "x"})  # fmt: skip
    mistake("rms-norm", "The mean is left out altogether: that is RMS norm",
            "Layer norm subtracts the mean, and its variance is measured around it.",
            edits={"(x - mean)": "x", VARIANCE: "x.pow(2).mean(dim=-1, keepdim=True)"})  # fmt: skip
    mistake("only-centred", "The mean is subtracted, but nothing is divided by the standard deviation",
            "What is the variance of one normalised token, with weight 1?", edits={NORMED: "normed = x - mean"})  # fmt: skip
    mistake("mean-deviation", "The mean absolute deviation is taken for the standard deviation",
            "Deviations are squared before they are averaged.",
            edits={VARIANCE: "(x - mean).abs().mean(dim=-1, keepdim=True).pow(2)"})  # fmt: skip
    mistake("length-one", "Each token is scaled to length 1, not to variance 1",
            "The variance is a mean over the features: the sum of squares is still to be divided by D.",
            edits={VARIANCE: "(x - mean).pow(2).sum(dim=-1, keepdim=True)"})  # fmt: skip


def _about_dimensions(exercise: Exercise) -> None:
    mistake = exercise.misconception
    over = "Over which dimensions do you take mean and variance, and what do they count? A token is normalised by itself."
    mistake("over-tokens", "Mean and variance are taken over the tokens, not over the features", over,
            edits={"dim=-1": "dim=-2"}, also=[{"dim=-1": "dim=1"}])  # fmt: skip
    mistake("over-sentence", "Mean and variance are taken over a whole sentence, tokens and features", over,
            edits={"dim=-1": "dim=(-2, -1)"}, also=[{"dim=-1": "dim=(1, 2)"}])  # fmt: skip
    mistake("batch-norm", "Mean and variance are taken over all tokens of all samples: that is batch norm", over,
            edits={"dim=-1": "dim=tuple(range(x.dim() - 1))"}, also=[{"dim=-1": "dim=(0, 1)"}])  # fmt: skip
    mistake("over-batch", "Mean and variance are taken over the batch", over, edits={"dim=-1": "dim=0"})  # fmt: skip
    mistake("over-everything", "One mean and one variance are taken of the whole tensor", over,
            edits={MEAN: "x.mean()", VARIANCE: "x.var(unbiased=False)"})  # fmt: skip
    mistake("third-dimension", "The features are looked for in dimension 2, whatever the number of dimensions",
            "Count from the end: −1 is right for two, three and four dimensions.", edits={"dim=-1": "dim=2"})  # fmt: skip


def _about_parameters(exercise: Exercise) -> None:
    mistake = exercise.misconception
    mistake("weight-unused", "weight is not used", "Change norm.weight and look whether anything happens.",
            edits={RETURN: "return normed + self.bias"})  # fmt: skip
    mistake("bias-unused", "bias is not used", "Change norm.bias and look whether anything happens.",
            edits={RETURN: "return self.weight * normed"})  # fmt: skip
    mistake("neither-used", "Neither weight nor bias is used", "The formula has a γ and a β: where are they?",
            edits={RETURN: "return normed"})  # fmt: skip
    mistake("bias-first", "bias is added before weight multiplies", "γ · (…) + β: the bias is added last.",
            edits={RETURN: "return self.weight * (normed + self.bias)"})  # fmt: skip
    mistake("no-parameters", "weight and bias are plain tensors: they never learn",
            "What do parameters() and an optimiser find? Look at nn.Parameter.",
            edits={ONES: "torch.ones(d_model)", ZEROS: "torch.zeros(d_model)"})  # fmt: skip
    mistake("buffers", "weight and bias are buffers: they never learn",
            "A buffer is kept with a module but not trained. Look at nn.Parameter.",
            edits={f"self.weight = {ONES}": 'self.register_buffer("weight", torch.ones(d_model))',
                   f"self.bias = {ZEROS}": 'self.register_buffer("bias", torch.zeros(d_model))'},
            same_as=["no-parameters"])  # fmt: skip
    mistake("single-numbers", "weight and bias are single numbers, not one for each feature",
            "γ and β have d_model entries: every feature has its own.",
            edits={ONES: "nn.Parameter(torch.ones(1))", ZEROS: "nn.Parameter(torch.zeros(1))"})  # fmt: skip
    mistake("starts-at-zero", "weight starts at zeros, so that a fresh norm puts out nothing",
            "A fresh norm should only normalise: by what is a number multiplied that stays as it is?",
            edits={ONES: ZEROS})  # fmt: skip
    mistake("starts-at-random", "weight and bias start at random values",
            "A fresh norm should only normalise: weight ones, bias zeros.",
            edits={ONES: "nn.Parameter(torch.randn(d_model))", ZEROS: "nn.Parameter(torch.randn(d_model))"})  # fmt: skip
    mistake("statistics-detached", "Mean and variance are cut off from the gradient",
            "They depend on x like everything else: no detach, no no_grad, no .data.",
            edits={MEAN: f"{MEAN}.detach()", VARIANCE: f"{VARIANCE}.detach()"})  # fmt: skip
    mistake("in-place", "The mean is subtracted in place, which changes the caller's tensor",
            "`x -= m` writes into the tensor you were given; `x - m` makes a new one.",
            edits={NORMED: f"with torch.no_grad():\n            x -= mean\n        normed = x / {ROOT}"})  # fmt: skip
    mistake("forced-to-float32", "The numbers are forced into float32",
            "float64 in, float64 out: leave the dtype as it comes.", edits={RETURN: f"{RETURN[:7]}({RETURN[7:]}).float()"})  # fmt: skip
