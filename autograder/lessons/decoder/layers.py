"""What the checks of the two layers share: how a layer is built and called, and facts about dropout."""

from collections.abc import Callable, Sequence

import torch

from autograder.judge import dropout, modules, weights
from autograder.judge.table import CallModule, Check, Draw, module

D, HEADS, D_FF = 12, 3, 20
INIT = (D, HEADS, D_FF, 0.0)
ALWAYS_ON = {"feed_forward.linear1.bias": torch.tensor([30.0]), "feed_forward.linear2.bias": torch.zeros(24)}

Init = Sequence[float]


def layer_call(
    draw: Draw, *calls: Sequence[torch.Tensor | None],
    cross: bool = False, init: Init = INIT, silent: Sequence[str] = (),
) -> CallModule:
    """Call a causal decoder layer, or with `cross` a decoder layer; `silent` sublayers put out zeros."""
    drawn = weights.layer(draw, "", int(init[0]), int(init[2]), cross=cross)
    return module(init, weights.silenced(drawn, *silent), *calls)


def dropout_checks(ask: Callable[[Draw, Init, int, int], CallModule], title: str) -> list[Check]:
    """Return the checks of a layer's dropout.

    `ask` takes a draw, the constructor's arguments, the number of samples and that of tokens, and
    returns a call of the layer. `title` belongs to the check of train mode.
    """
    return [
        Check("eval-repeats", "in eval mode, nothing is dropped",
              lambda d: modules.asked_as(
                  dropout.DropoutFact, ask(d, (D, HEADS, D_FF, 0.8), 2, 5), fact="repeats"),
              dropout.holds, 0.5),
        Check("train-drops-sub-layers", title,
              lambda d: _drops_sublayers(ask(d, (D, HEADS, D_FF, dropout.NEARLY_ALL), 2, 5)),
              dropout.holds, 0.5),
        Check("feed-forward-drops", "the layer's dropout reaches its feed-forward network",
              lambda d: _drops_inside(ask(d, (24, 2, 1, 0.9), 4, 10)), dropout.holds, 0.5),
        Check("nothing-to-drop", "with dropout 0, nothing is dropped in train mode either",
              lambda d: _drops_nothing(ask(d, (D, HEADS, 40, 0.0), 4, 6)), dropout.holds, 0.5),
    ]


def _drops_sublayers(asked: CallModule) -> dropout.DropoutFact:
    silence = weights.last_layers({**asked.weights})
    return modules.asked_as(dropout.DropoutFact, asked, fact="drops parts", silence=silence)


def _drops_inside(asked: CallModule) -> dropout.DropoutFact:
    """Look at a feed-forward of one hidden unit, which is on at every position, and at nothing else."""
    drawn = weights.silenced({**asked.weights}, "self_attention", "cross_attention") | ALWAYS_ON
    silence = ["feed_forward.linear2.weight"]
    return modules.asked_as(dropout.DropoutFact, asked, weights=drawn, fact="drops inside", silence=silence)


def _drops_nothing(asked: CallModule) -> dropout.DropoutFact:
    drawn = weights.zeroed({**asked.weights}, "w_v.")  # dropout on attention weights cannot show then
    return modules.asked_as(dropout.DropoutFact, asked, weights=drawn, fact="drops nothing")
