"""Checks of `label_smoothing_loss`."""

import math

import torch

from autograder.judge.draw import Draw
from autograder.judge.exercise import Exercise, Lesson, Stimulus, call, gradient
from autograder.judge.judgement import Seen, Verdict, agrees, unchanged
from autograder.lessons.transformer import reference

REAL = "is_real = target != pad_id"
LOGS = "log_probabilities = F.log_softmax(logits, dim=-1)"
RIGHT = "right = log_probabilities.gather(-1, target.unsqueeze(-1)).squeeze(-1)"
EVERYWHERE = "everywhere = log_probabilities.mean(dim=-1)"
LOSSES = "losses = -((1 - smoothing) * right + smoothing * everywhere)"
RETURN = "return losses[is_real].mean()"
LIBRARY = "This is the library's cross-entropy; here it is to be written from log-probabilities."


def _scalar(seen: Seen) -> str | None:
    """Say something about a wrong number: its sign, a constant between, an infinity."""
    got, want = float(seen.got.value), float(seen.expected.value)
    if not math.isfinite(got):
        return "The loss is not finite: the logarithm of a softmax underflows where log_softmax does not."
    if abs(got + want) < 1e-3:
        return "The loss has the wrong sign: it should fall as the right word becomes likelier."
    if got < 0:
        return (
            f"The loss is {got:.4g}; a cross-entropy is never below 0. Are these log-probabilities?"
        )
    return f"The loss is {got:.4g}, where {want:.4g} was expected: {got / want:.3g} times as much."


judge = agrees(_scalar)


def _gradients(seen: Seen) -> Verdict:
    """Judge gradients; where padding gets some, say so."""
    verdict = agrees(_scalar)(seen)
    if verdict.passed or seen.got.raised or not isinstance(seen.got.value, dict):
        return verdict
    found = seen.got.value["gradients"][0]
    if found is None:
        return Verdict(
            passed=False,
            message="No gradient reaches the logits: was the tensor turned into a number?",
        )
    padding = seen.inputs["args"][1] == 0
    if found.shape[:2] == padding.shape and found[padding].abs().max() > 1e-6:
        return Verdict(
            passed=False, message="Positions of <pad> get a gradient; they should teach nothing."
        )
    return Verdict(passed=False, message="The gradient with respect to the logits is not right.")


def add_loss(lesson: Lesson) -> None:
    """Declare the exercise, its cases and its misconceptions."""
    exercise = lesson.exercise(
        "label-smoothing-loss", 2, "label_smoothing_loss", reference=reference.label_smoothing_loss,
        forbidden={"cross_entropy": LIBRARY, "cross_entropy_loss": LIBRARY},
    )  # fmt: skip
    _add_cases(exercise)
    _add_more_cases(exercise)
    _add_mistakes(exercise)
    _add_more_mistakes(exercise)


def _target(draw: Draw, lengths: list[int], size: int, vocabulary: int) -> torch.Tensor:
    ids = draw.integers(1, vocabulary, len(lengths), size)
    return ids.masked_fill(torch.arange(size) >= torch.tensor(lengths)[:, None], 0)


def _add_cases(exercise: Exercise) -> None:
    @exercise.case("the smoothing that is the default, without padding", judge=judge, weight=2)
    def plain(draw: Draw) -> Stimulus:
        return call(draw.normal(3, 5, 7, scale=2), _target(draw, [5] * 3, 5, 7))

    @exercise.case("the mean is over real tokens, each counting the same", judge=judge, weight=2)
    def padded(draw: Draw) -> Stimulus:
        return call(draw.normal(3, 6, 7, scale=2), _target(draw, [6, 2, 3], 6, 7), 0.2)

    @exercise.case("without smoothing it is the plain cross-entropy", judge=judge)
    def unsmoothed(draw: Draw) -> Stimulus:
        return call(draw.normal(2, 5, 7, scale=2), _target(draw, [5, 3], 5, 7), smoothing=0.0)

    @exercise.case("much smoothing, by name, and another pad_id", judge=judge)
    def other_padding(draw: Draw) -> Stimulus:
        target = draw.integers(0, 7, 3, 5)
        target[0, 1:3], target[2, 4] = 4, 4
        target[1, 0], target[1, 1] = 0, 1
        return call(draw.normal(3, 5, 7, scale=2), target, smoothing=0.6, pad_id=4)


def _add_more_cases(exercise: Exercise) -> None:
    @exercise.case("as many positions as words", judge=judge)
    def square(draw: Draw) -> Stimulus:
        return call(draw.normal(2, 6, 6, scale=2), _target(draw, [6, 4], 6, 6), 0.3)

    @exercise.case("a sample of nothing but padding, beside others", judge=judge, weight=0.5)
    def empty_sample(draw: Draw) -> Stimulus:
        return call(draw.normal(3, 4, 6, scale=2), _target(draw, [4, 0, 2], 4, 6))

    @exercise.case("logits of ±200 give a finite loss", judge=judge, weight=0.5)
    def extreme(draw: Draw) -> Stimulus:
        return call(draw.normal(2, 4, 6).sign() * 200, _target(draw, [4, 3], 4, 6))

    @exercise.case(
        "its gradient reaches the logits of real tokens, and no others", judge=_gradients
    )
    def learns(draw: Draw) -> Stimulus:
        logits = draw.normal(2, 5, 7, scale=2)
        return gradient(logits, _target(draw, [5, 2], 5, 7), 0.2, cotangent=torch.tensor(1.0))

    @exercise.case(
        "it works in float64, and leaves its arguments as they are",
        judge=unchanged(_scalar),
        weight=0.5,
    )
    def arguments(draw: Draw) -> Stimulus:
        return call(draw.normal(2, 5, 7, scale=2).double(), _target(draw, [5, 3], 5, 7))


def _add_mistakes(exercise: Exercise) -> None:
    mistake = exercise.misconception
    mistake("pads-counted", "Padding is counted like real tokens",
            "Change the logits at a <pad>: may the loss change?", edits={RETURN: "return losses.mean()"})  # fmt: skip
    mistake("divided-by-all", "The sum over real tokens is divided by the number of all tokens, padding included",
            "A mean divides by as many numbers as were added.",
            edits={RETURN: "return losses[is_real].sum() / target.numel()"})  # fmt: skip
    mistake("mean-of-means", "The mean is taken sentence by sentence, and then over sentences",
            "Each real token counts the same, whichever sentence it stands in.",
            edits={RETURN: "return ((losses * is_real).sum(dim=1) / is_real.sum(dim=1).clamp(min=1)).mean()"})  # fmt: skip
    mistake("summed", "The losses are added up, not averaged", "Mean over real tokens.",
            edits={RETURN: "return losses[is_real].sum()"})  # fmt: skip
    mistake("divided-by-batch", "The sum is divided by the number of sentences",
            "Mean over real tokens.", edits={RETURN: "return losses[is_real].sum() / len(target)"})  # fmt: skip
    mistake("not-reduced", "One loss a token is returned, not their mean",
            "A scalar is wanted.", edits={RETURN: "return losses[is_real]"})  # fmt: skip
    mistake("number-returned", "A plain number is returned: no gradient can come back through it",
            "Leave it a tensor; train_step takes the item.", edits={RETURN: "return losses[is_real].mean().item()"})  # fmt: skip
    mistake("pad-id-ignored", "0 is taken for padding, whatever pad_id is", "Try it with pad_id=4.",
            edits={REAL: "is_real = target != 0"})  # fmt: skip
    mistake("only-pads", "The mean is over padding, not over real tokens", "== or !=?",
            edits={REAL: "is_real = target == pad_id"})  # fmt: skip
    mistake("wrong-sign", "The loss has the wrong sign", "It should fall as the right word becomes likelier.",
            edits={"losses = -(": "losses = ("})  # fmt: skip


def _add_more_mistakes(exercise: Exercise) -> None:
    mistake = exercise.misconception
    mistake("smoothing-ignored", "There is no smoothing", "Where does `smoothing` come in?",
            edits={LOSSES: "losses = -right"})  # fmt: skip
    mistake("smoothing-fixed", "The smoothing is always 0.1", "Try it with smoothing=0.6.",
            edits={LOSSES: "losses = -(0.9 * right + 0.1 * everywhere)"})  # fmt: skip
    mistake("others-only", "The ε is shared among the other words only",
            "The right word gets its share of ε as well: 1 − ε + ε/V.",
            edits={EVERYWHERE: "everywhere = (log_probabilities.sum(dim=-1) - right) / (logits.size(-1) - 1)"})  # fmt: skip
    mistake("others-without-pad", "The ε is shared among the words that are neither right nor <pad>",
            "As in some published code; here, as in PyTorch, all V words get a share.",
            edits={EVERYWHERE: "everywhere = (log_probabilities.sum(dim=-1) - right - log_probabilities[..., pad_id])"
                               " / (logits.size(-1) - 2)"})  # fmt: skip
    mistake("weights-exchanged", "ε and 1 − ε are exchanged", "With ε = 0 the right word gets everything.",
            edits={LOSSES: "losses = -(smoothing * right + (1 - smoothing) * everywhere)"})  # fmt: skip
    mistake("right-not-lowered", "The right word keeps all of its weight, and ε is added on top",
            "The target is a distribution: its weights sum to 1.",
            edits={LOSSES: "losses = -(right + smoothing * everywhere)"})  # fmt: skip
    mistake("sum-not-mean", "ε is given to every word, instead of being shared by them",
            "ε / V each.", edits={EVERYWHERE: "everywhere = log_probabilities.sum(dim=-1)"})  # fmt: skip
    mistake("divergence", "The entropy of the target is subtracted: a KL divergence, not a cross-entropy",
            "The two differ by a constant; here the cross-entropy is wanted.",
            edits={RETURN: "low = smoothing / logits.size(-1); high = 1 - smoothing + low; "
                           "return losses[is_real].mean() + high * math.log(high) + "
                           "((logits.size(-1) - 1) * low * math.log(low) if low else 0.0)"})  # fmt: skip
    mistake("softmax-twice", "A softmax is taken before the log-softmax",
            "The loss cannot fall below ln(e + V − 1) − 1 then. Logits go in as they are.",
            edits={LOGS: "log_probabilities = F.log_softmax(logits.softmax(dim=-1), dim=-1)"})  # fmt: skip
    mistake("softmax-over-positions", "The softmax is over the positions, not over the words",
            "The words lie along the last dimension.",
            edits={LOGS: "log_probabilities = F.log_softmax(logits, dim=1)"})  # fmt: skip
    mistake("softmax-over-batch", "The softmax is over the batch", "The words lie along the last dimension.",
            edits={LOGS: "log_probabilities = F.log_softmax(logits, dim=0)"})  # fmt: skip
    mistake("no-logarithm", "Probabilities are used where log-probabilities belong",
            "−p is not −log p.", edits={LOGS: "log_probabilities = F.softmax(logits, dim=-1)"})  # fmt: skip
    mistake("no-softmax", "The logits are used where log-probabilities belong",
            "nll_loss wants log-probabilities, and so do you.", edits={LOGS: "log_probabilities = logits"})  # fmt: skip
    mistake("unstable", "The logarithm is taken after the softmax, which underflows for large logits",
            "F.log_softmax does both at once, and safely.",
            edits={LOGS: "log_probabilities = F.softmax(logits, dim=-1).log()"})  # fmt: skip
    mistake("classes-in-the-middle", "The words are looked for along dimension 1",
            "PyTorch's own losses want (B, V, T); these logits are (B, T, V).",
            edits={LOGS: "log_probabilities = F.log_softmax(logits.transpose(1, 2).reshape(logits.shape), dim=-1)"})  # fmt: skip
