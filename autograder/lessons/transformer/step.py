"""Checks of `train_step`, with a small model and plain gradient descent."""

from typing import Any

import torch

from autograder.judge.draw import Draw
from autograder.judge.exercise import Exercise, Lesson, Stimulus
from autograder.judge.judgement import Seen, agrees, unchanged
from autograder.lessons.transformer import reference

VOCABULARY, WIDTH, NEARLY_ALL = 9, 6, 1 - 1e-9
FORWARD = "logits = model(src, shift_right(tgt))"
LOSS = "loss = label_smoothing_loss(logits, tgt, smoothing, model.pad_id)"
CLEAR, BACK, STEP = "optimiser.zero_grad()", "loss.backward()", "optimiser.step()"
RETURN = "return loss.item()"


def _words(seen: Seen) -> str | None:
    """Say whether the first loss, a later one or the update is wrong."""
    got, want = seen.got.value, seen.expected.value
    losses, right = got["losses"], want["losses"]
    if not all(isinstance(loss, float) for loss in losses):
        return None
    wrong = [
        place for place, (a, b) in enumerate(zip(losses, right, strict=True)) if abs(a - b) > 1e-4
    ]
    if wrong and wrong[0] == 0:
        return f"The loss of the first step is {losses[0]:.4f}; {right[0]:.4f} was expected. What was fed, and what was scored?"
    if wrong:
        return f"The first loss is right, but that of step {wrong[0] + 1} is {losses[wrong[0]]:.4f}, where {right[wrong[0]]:.4f} was expected: look at the update."
    return _about_weights(seen, got["weights"], want["weights"])


def _about_weights(seen: Seen, got: Any, want: Any) -> str | None:
    before = seen.inputs["weights"]
    if all(torch.equal(got[name], before[name]) for name in want):
        return "The loss is right, but no weight has changed: is there a step, and does it come after backward?"
    for name, right in want.items():
        if not torch.allclose(got[name], right, atol=1e-4):
            ratio = ((got[name] - before[name]) / (right - before[name])).nanmedian()
            return f"The loss is right, but the update is not: it is {float(ratio):.3g} times as large as it should be, at its median."
    return None


judge = agrees(_words)


def add_step(lesson: Lesson) -> None:
    """Declare the exercise, its cases and its misconceptions."""
    exercise = lesson.exercise("train-step", 3, "train_step", reference=reference.train_step)
    _add_cases(exercise)
    _add_forward_mistakes(exercise)
    _add_update_mistakes(exercise)


def _batch(draw: Draw, lengths: list[int], size: int) -> list[torch.Tensor]:
    """Return source (B, 5) and target (B, size), which ends with <eos> and padding."""
    src = draw.integers(3, VOCABULARY, len(lengths), 5)
    tgt = draw.integers(3, VOCABULARY, len(lengths), size)
    for row, length in enumerate(lengths):
        tgt[row, length - 1], tgt[row, length:] = 2, 0
    return [src, tgt]


def _asked(
    draw: Draw,
    *batches: list[torch.Tensor],
    train: bool = True,
    dropout: float = 0.0,
    **kwargs: Any,
) -> Stimulus:
    shapes = {
        "source": (VOCABULARY, WIDTH),
        "target": (VOCABULARY, WIDTH),
        "out": (WIDTH, VOCABULARY),
        "bias": (VOCABULARY,),
    }
    weights = {name: draw.normal(*shape) for name, shape in shapes.items()}
    asked = {"weights": weights, "train": train, "dropout": dropout, "rate": 0.5}
    return Stimulus("training", {**asked, "calls": list(batches), "kwargs": kwargs})


def _add_cases(exercise: Exercise) -> None:
    @exercise.case("one step: the loss before the update, and the update", judge=judge, weight=2)
    def one_step(draw: Draw) -> Stimulus:
        return _asked(draw, _batch(draw, [6] * 3, 6))

    @exercise.case("padding teaches nothing", judge=judge)
    def padded(draw: Draw) -> Stimulus:
        return _asked(draw, _batch(draw, [6, 2, 4], 6))

    @exercise.case("three steps in a row, each from its own gradient", judge=judge)
    def three_steps(draw: Draw) -> Stimulus:
        return _asked(
            draw, _batch(draw, [5, 3], 5), _batch(draw, [4, 4, 2], 4), _batch(draw, [6], 6)
        )

    @exercise.case("the smoothing that is asked for", judge=judge)
    def smoothed(draw: Draw) -> Stimulus:
        return _asked(draw, _batch(draw, [5, 3], 5), smoothing=0.4)

    @exercise.case("a model that comes in eval mode is trained with its dropout on", judge=judge)
    def dropout(draw: Draw) -> Stimulus:
        return _asked(draw, _batch(draw, [5, 4], 5), train=False, dropout=NEARLY_ALL)

    @exercise.case("targets of one token", judge=judge, weight=0.5)
    def one_token(draw: Draw) -> Stimulus:
        return _asked(draw, _batch(draw, [1, 1], 1))

    @exercise.case("the batch stays as it was", judge=unchanged(_words), weight=0.5)
    def arguments(draw: Draw) -> Stimulus:
        return _asked(draw, _batch(draw, [5, 2], 5))


def _add_forward_mistakes(exercise: Exercise) -> None:
    mistake = exercise.misconception
    mistake("not-shifted", "The decoder is fed the target itself: it sees the word it is asked for",
            "Position t may see the words before t.", edits={FORWARD: "logits = model(src, tgt)"})  # fmt: skip
    mistake("shifted-left", "The target is shifted to the left: the decoder sees the word after the one it is asked for",
            "<sos> comes first, and everything moves one place to the right.",
            edits={FORWARD: "logits = model(src, torch.cat([tgt[:, 1:], torch.zeros_like(tgt[:, :1])], dim=1))"})  # fmt: skip
    mistake("target-thought-to-begin-with-sos", "The first word is never asked for: inputs are tgt[:, :-1], targets tgt[:, 1:]",
            "That is right where tgt begins with <sos>. This one does not.",
            edits={FORWARD: "logits = model(src, tgt[:, :-1])", LOSS: LOSS.replace("tgt,", "tgt[:, 1:],")})  # fmt: skip
    mistake("shifted-twice", "The target is shifted twice",
            "After <sos> comes the first word, not another <sos>.",
            edits={FORWARD: "logits = model(src, shift_right(shift_right(tgt)))"})  # fmt: skip
    mistake("target-shifted-too", "The loss compares with the shifted target",
            "The shifted target is what is read; what is asked for is tgt itself.",
            edits={LOSS: LOSS.replace("tgt,", "shift_right(tgt),")})  # fmt: skip
    mistake("only-sos-fed", "The decoder is fed nothing but <sos>",
            "Teacher forcing: it reads the right words so far.",
            edits={FORWARD: "logits = model(src, torch.ones_like(tgt))"})  # fmt: skip
    mistake("starts-with-eos", "The shifted target begins with <eos> or <pad>, not with <sos>",
            "The first id of what the decoder reads is 1.",
            edits={FORWARD: "logits = model(src, shift_right(tgt, 2))"},
            also=[{FORWARD: "logits = model(src, shift_right(tgt, 0))"}])  # fmt: skip
    mistake("source-shifted", "The source is shifted as well", "The encoder reads the source as it is.",
            edits={FORWARD: "logits = model(shift_right(src), shift_right(tgt))"})  # fmt: skip
    mistake("eval-mode", "The model is trained in eval mode: its dropout is off",
            "Whoever evaluated last may have left it there.", edits={"model.train()": "model.eval()"},
            also=[{"model.train()": "pass"}])  # fmt: skip
    mistake("pads-counted", "Padding is counted in the loss", "Which id has label_smoothing_loss to ignore?",
            edits={LOSS: "loss = label_smoothing_loss(logits, tgt, smoothing, -1)"})  # fmt: skip
    mistake("eos-ignored", "<eos> is ignored, so the model never learns to stop",
            "Padding is what is ignored.", edits={LOSS: "loss = label_smoothing_loss(logits, tgt, smoothing, 2)"})  # fmt: skip
    mistake("smoothing-ignored", "The argument smoothing is ignored: there is none",
            "Hand it on.", edits={LOSS: "loss = label_smoothing_loss(logits, tgt, 0.0, model.pad_id)"})  # fmt: skip
    mistake("smoothing-default", "The argument smoothing is ignored: it is always 0.1",
            "The default of label_smoothing_loss is not the default here.",
            edits={LOSS: "loss = label_smoothing_loss(logits, tgt, pad_id=model.pad_id)"})  # fmt: skip


def _add_update_mistakes(exercise: Exercise) -> None:
    mistake = exercise.misconception
    mistake("gradients-pile-up", "Old gradients are not cleared: each step adds to those before it",
            "Every training loop has zero_grad somewhere.", edits={CLEAR: "pass"})  # fmt: skip
    mistake("nothing-to-step-by", "When the optimiser steps there is no gradient: it was cleared, or comes only afterwards",
            "Forward, clear, backward, step.",
            edits={f"    {CLEAR}\n": "", BACK: f"loss.backward(); {CLEAR}"},
            also=[{f"    {BACK}\n    {STEP}\n": f"    {STEP}\n    {BACK}\n"}])  # fmt: skip
    mistake("no-step", "The optimiser takes no step", "Which line changes the weights?",
            edits={STEP: "pass"})  # fmt: skip
    mistake("two-steps", "The optimiser steps twice", "One update.", edits={STEP: f"{STEP}; {STEP}"})  # fmt: skip
    mistake("loss-afterwards", "The loss that is returned is the one after the update",
            "Return the value that the update was computed from.",
            edits={RETURN: "return label_smoothing_loss(model(src, shift_right(tgt)), tgt, smoothing, model.pad_id).item()"})  # fmt: skip
    mistake("tensor-returned", "A tensor is returned, with all of its graph, not a number",
            "Kept in a list, it would keep the memory of every step. item() makes a float.",
            edits={RETURN: "return loss"}, also=[{RETURN: "return loss.detach()"}])  # fmt: skip
    mistake("sum-returned", "The sum over real tokens is returned, not their mean",
            "Mean over real tokens.", edits={RETURN: "return loss.item() * int((tgt != model.pad_id).sum())"})  # fmt: skip
    mistake("sum-trained", "The update is made from the sum over real tokens, not from their mean",
            "Mean over real tokens.", edits={BACK: "(loss * (tgt != model.pad_id).sum()).backward()"})  # fmt: skip
    mistake("perplexity-returned", "The perplexity is returned, not the loss", "No exponential here.",
            edits={RETURN: "return math.exp(loss.item())"})  # fmt: skip
    mistake("gradients-clipped", "The gradients are clipped, which nobody asked for",
            "A useful trick; but one update is asked for, of the gradient as it is.",
            edits={STEP: "nn.utils.clip_grad_norm_(model.parameters(), 0.1); optimiser.step()"})  # fmt: skip
