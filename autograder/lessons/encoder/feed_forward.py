from dataclasses import dataclass
from typing import Any, ClassVar

import torch

from autograder.judge import dropout, modules, weights
from autograder.judge.table import (
    CallModule, Check, Comparison, Draw, ExerciseChecks, Operation, arguments, example, facts,
    gradients_match, matches_reference, module, module_learns_too, near, outputs, positions_mix, properties,
    returned_tensor, samples_mix,
)
from coursework import stand_ins


def _feed_forward(d: Draw, init: list[Any], *inputs: torch.Tensor, train: bool = False) -> CallModule:
    """Ask for a call with each input; `init` is d_model, d_ff and, if it is given, dropout."""
    d_model, d_ff, *_ = init
    return module(init, weights.feed_forward(d, "", d_model, d_ff), *([x] for x in inputs), train=train)


def _linear(seen: Comparison) -> str | None:
    both, one, other, zero = outputs(seen)
    if not near(both + zero, one + other):
        return None
    return "The result is linear in x. Without a ReLU between them, two linear layers act as one."


def _more_than_bias(seen: Comparison) -> str:
    came = "something else is" if seen.got.value.any() else "nothing is"
    return (
        f"With dropout near 1, only the bias of `linear2` should be left in train mode, but {came}. "
        "Is there one dropout, between the two layers?"
    )


def _sum_of_two(d: Draw) -> Operation:
    """Ask for two inputs, their sum and zero: a linear map gives f(a + b) = f(a) + f(b) − f(0)."""
    one, other = d.normal(2, 3, 5, scale=2), d.normal(2, 3, 5, scale=2)
    return _feed_forward(d, [5, 9], one + other, one, other, torch.zeros(2, 3, 5))


def _positions(d: Draw) -> Operation:
    x = d.normal(3, 4, 6)
    return _feed_forward(d, [6, 8], x, x[:, 2:3], x[:, 2:3])


def _survivors(*rate: float) -> Operation:
    """Ask what is left of hidden features of 1, half of it from x, where linear2 changes nothing."""
    drawn = {"linear1.weight": 0.5 * torch.eye(128), "linear1.bias": torch.full((128,), 0.5),
             "linear2.weight": torch.eye(128), "linear2.bias": torch.zeros(128)}
    return Survivors([128, 128, *rate], drawn, [[torch.ones(4, 30, 128)]], train=True)


@dataclass(frozen=True)
class Survivors(CallModule):
    """Call once in train mode, with weights for which every output is 1 if nothing is dropped.

    What is read is the same at every draw and, unlike DropoutFact's rate, needs no output of eval mode.
    """

    sent_as: ClassVar = CallModule

    def read(self, value: Any) -> dict[str, Any]:
        """Return the largest factor of what is left, whether there are zeros, and where they are alike."""
        output = returned_tensor(value)
        zeros = output == 0
        return {"largest": round(output.max().item(), 3), "some zeros": bool(zeros.any()),
                "together": dropout.together(zeros)}


SHARE = facts({
    "some zeros": "Nothing is dropped in train mode.",
    "largest": "Dropout has the wrong rate, acts in more than one place, or what is left is not scaled: it "
               "should become 1 / (1 − dropout) times what it was."}, dropout.drops_together)

exercise = ExerciseChecks(reference=stand_ins.FeedForward,
    examples=[
        example(lambda d: _feed_forward(d, [2, 4], d.normal(1, 3, 2))),
        example(lambda d: _feed_forward(d, [3, 5], d.normal(2, 1, 3, scale=2.0))),
        example(lambda d: _feed_forward(d, [2, 3, dropout.NEARLY_ALL], d.normal(1, 2, 2), train=True)),
        example(lambda d: _feed_forward(d, [2, 3, 0.0], d.normal(1, 2, 2), train=True)),
    ], checks=[
    module_learns_too((3, 5, 6), Check("formula", "linear, ReLU, linear",
          lambda d: _feed_forward(d, [6, 11], d.normal(3, 5, 6)), weight=2), ["x"]),
    Check("not-linear", "the ReLU makes the result non-linear in x", _sum_of_two, matches_reference(_linear)),
    Check("positions", "each position is processed separately, with the same weights", _positions,
          matches_reference(positions_mix)),
    Check("alone", "a sample gives the same result alone and in a batch; d_ff may be less than d_model",
          lambda d: modules.alone_twice(_feed_forward(d, [7, 5], d.normal(3, 4, 7))),
          matches_reference(samples_mix)),
    Check("learns", "gradients reach both layers and x",
          lambda d: modules.gradients(_feed_forward(d, [6, 9, 0.0], d.normal(2, 5, 6)), d.normal(2, 5, 6),
                                      of_arguments=True, registration=True), gradients_match(["x"])),
    arguments(lambda d: _feed_forward(d, [5, 8], d.normal(2, 3, 5)), names=["x"], weight=1),
    Check("dropout-off", "in eval mode, nothing is dropped",
          lambda d: _feed_forward(d, [6, 9, dropout.NEARLY_ALL], d.normal(3, 5, 6)), dropout.nothing_dropped),
    Check("dropout-on", "in train mode, hidden features are dropped between the two layers",
          lambda d: _feed_forward(d, [6, 9, dropout.NEARLY_ALL], d.normal(3, 5, 6), train=True),
          matches_reference(_more_than_bias), separates=("relu-at-the-end", "relu-twice")),
    Check("dropout-none", "with dropout 0, nothing is dropped in train mode",
          lambda d: _feed_forward(d, [8, 30, 0.0], d.normal(3, 20, 8), train=True),
          dropout.nothing_dropped, 0.5),
    Check("dropout-share", "dropout drops the given share, and scales up what is left",
          lambda _: _survivors(0.6), SHARE, 0.5),
    Check("dropout-default", "by default, a tenth is dropped", lambda _: _survivors(), SHARE, 0.5),
    *properties(lambda d: _feed_forward(d, [5, 8], d.normal(2, 3, 5)),
                sizes=lambda d: [_feed_forward(d, [1, 1], d.normal(1, 1, 1)),
                                 _feed_forward(d, [64, 150], d.normal(20, 40, 64, scale=4.0))]),
])
