"""Checks of `train_step`, with a small model and plain gradient descent."""

from typing import Any

import torch

from autograder.judge.table import (
    NEARLY_ALL, Check, Comparison, Draw, ExerciseChecks, arguments, defaults, example, facts,
    matches_reference, near, of_type, properties, side, through, times,
)
from autograder.lessons.transformer import reference
from autograder.lessons.transformer.fixtures import ModeAfterwards, TrainSteps

VOCABULARY, WIDTH = 9, 6


def _about_steps(seen: Comparison) -> str | None:
    got, want = seen.got.value["losses"], seen.expected.value["losses"]
    if other := [loss for loss in got if isinstance(loss, bool) or not isinstance(loss, (int, float))]:
        return f"Return the loss as a float, not as {of_type(other[0])}."
    wrong = [
        n for n, (mine, right) in enumerate(zip(got, want, strict=True)) if not abs(mine - right) <= 1e-4
    ]
    if not wrong:
        return _about_update(seen)
    if wrong[0]:
        return f"The loss of step {wrong[0] + 1} is wrong. Those before it are right, so look at the update."
    if any(got[0] == round(want[0], digits) for digits in range(5)):
        return "The first loss is right but for its last digits. Is it rounded?"
    how = side(got[0], want[0])
    return f"The first loss is {how}. Check what the decoder reads, and what the loss is compared with."


def _about_update(seen: Comparison) -> str:
    before, got, want = seen.inputs["weights"], seen.got.value["weights"], seen.expected.value["weights"]
    if all(torch.equal(got[name], before[name]) for name in want):
        return "The loss is right, but no weight changed. Does `step()` come after `backward()`?"
    mine, right = ((after["out"] - before["out"]).flatten() for after in (got, want))
    ratio = (mine @ right / (right @ right)).item()
    if near(mine, ratio * right):
        return f"The loss is right, but the update is {times(ratio, 1.0)}."
    return "The loss is right, but the update is not. Is the gradient that of this batch alone?"


def _batch(draw: Draw, *lengths: int) -> list[torch.Tensor]:
    """Return source (B, 5) and target (B, T), which ends with <eos> and padding."""
    src = draw.integers(3, VOCABULARY, len(lengths), 5)
    tgt = draw.integers(3, VOCABULARY, len(lengths), max(lengths))
    for row, length in enumerate(lengths):
        tgt[row, length - 1], tgt[row, length:] = 2, 0
    return [src, tgt]


def _train(
    draw: Draw, *batches: list[torch.Tensor], kind: type[TrainSteps] = TrainSteps, **fields: Any
) -> TrainSteps:
    weights = {name: draw.normal(VOCABULARY, WIDTH) for name in ("source", "target")}
    weights |= {"out": draw.normal(WIDTH, VOCABULARY), "bias": draw.normal(VOCABULARY)}
    return kind(weights, batches, **fields)


STAYS = facts({"train mode": "After the step, the model is in eval mode, but it should stay in train mode."},
              _about_steps)

exercise = ExerciseChecks(
    reference=reference.train_step, judge=matches_reference(_about_steps, any_form=True),
    examples=[
        example(lambda _: through("train_step", torch.tensor([[4, 5]]), torch.tensor([[6, 3, 2]])),
                shown="train_step(model, src, tgt, optimiser)  # two steps"),
        example(lambda _: through("train_step", torch.tensor([[4, 5], [7, 0]]),
                                  torch.tensor([[6, 3, 2], [9, 2, 0]]), smoothing=0.2),
                shown="train_step(model, src, tgt, optimiser, smoothing=0.2)"),
    ], checks=[
    Check("one-step", "one step: the loss before the update, and the update",
          lambda d: _train(d, _batch(d, 6, 6, 6)), weight=2),
    Check("padded", "padding affects neither loss nor update", lambda d: _train(d, _batch(d, 6, 2, 4))),
    Check("three-steps", "three steps in a row, each from its own gradient",
          lambda d: _train(d, _batch(d, 5, 3), _batch(d, 4, 4, 2), _batch(d, 6))),
    Check("smoothed", "the given smoothing is used",
          lambda d: _train(d, _batch(d, 5, 3), kwargs={"smoothing": 0.4})),
    Check("dropout", "a model in eval mode is trained with its dropout on",
          lambda d: _train(d, _batch(d, 5, 4), train=False, dropout=NEARLY_ALL)),
    Check("one-token", "targets of one token", lambda d: _train(d, _batch(d, 1, 1)), weight=0.5),
    arguments(lambda d: _train(d, _batch(d, 5, 2)), _about_steps, names=["src", "tgt"], any_form=True),
    Check("train-mode", "the model stays in train mode",
          lambda d: _train(d, _batch(d, 4, 4), kind=ModeAfterwards), STAYS, weight=0.5),
    Check("from-eval-mode", "a model in eval mode is in train mode afterwards",
          lambda d: _train(d, _batch(d, 4, 4), kind=ModeAfterwards, train=False), STAYS, weight=0.5),
    Check("padding-first", "padding may come first, and has no effect there either",
          lambda d: _train(d, [part.flip(1) for part in _batch(d, 6, 2, 4)]), weight=0.5),
    *properties(lambda d: _train(d, _batch(d, 5, 2)),
                sizes=lambda d: [_train(d, _batch(d, 1)), _train(d, _batch(d, *range(1, 40)))]),
    defaults(lambda d: [_train(d, _batch(d, 5, 3))], smoothing=(0.0, 0.4)),
])
