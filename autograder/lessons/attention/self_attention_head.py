from collections.abc import Sequence
from typing import Any

from autograder.judge import masks, modules
from autograder.judge.table import (
    FINISHED_ATTENTION, CallModule, Check, Draw, ExerciseChecks, Operation, arguments, example,
    gradients_match, learns_too, module, properties,
)
from autograder.lessons.attention import reference


def _head(draw: Draw, init: Sequence[int], *calls: Sequence[Any]) -> CallModule:
    """Call a head with drawn weights; `init` is d_model and d_k, or d_model alone."""
    d_model, d_k = init[0], init[-1]
    weights = draw.linear("w_q", d_model, d_k) | draw.linear("w_k", d_model, d_k)
    return module(init, weights | draw.linear("w_v", d_model, d_model), *calls)


def _gradients(draw: Draw, init: Sequence[int], *shape: int) -> Operation:
    asked = _head(draw, init, [draw.normal(*shape)])
    return modules.gradients(asked, draw.normal(*shape), of_arguments=True)


exercise = ExerciseChecks(reference=reference.SelfAttentionHead, excludes=FINISHED_ATTENTION, examples=[
        example(lambda d: _head(d, [3, 2], [d.normal(1, 3, 3)])),
        example(lambda d: _head(d, [2], [d.normal(2, 3, 2), masks.causal(3)])),
    ], checks=[
    learns_too(Check("narrow", "every token attends to all tokens, with d_k below d_model",
                     lambda d: _head(d, [8, 5], [d.normal(3, 6, 8)]), weight=2),
               lambda d: _gradients(d, [8, 5], 3, 6, 8), ["x"]),
    learns_too(Check("default-width", "d_k defaults to d_model",
                     lambda d: _head(d, [7], [d.normal(2, 5, 7)])),
               lambda d: _gradients(d, [7], 2, 5, 7), ["x"]),
    learns_too(Check("wide", "d_k may exceed d_model", lambda d: _head(d, [6, 11], [d.normal(2, 4, 6)])),
               lambda d: _gradients(d, [6, 11], 2, 4, 6), ["x"]),
    Check("causal", "under a causal mask, no output depends on a later token",
          lambda d: _head(d, [8, 5], [d.normal(2, 6, 8), masks.causal(6)])),
    Check("padding", "a padding mask, with a different length in each sample",
          lambda d: _head(d, [8, 3], [d.normal(3, 6, 8), masks.padding([6, 2, 4])])),
    Check("calls", "calls are independent: a single token, then another batch, with a mask and without one",
          lambda d: _head(d, [4, 6], [d.normal(1, 1, 4)], [d.normal(2, 5, 4), masks.causal(5)],
                          [d.normal(2, 5, 4)])),
    Check("learns", "gradients reach all three projections, and x",
          lambda d: _gradients(d, [5, 4], 2, 6, 5), gradients_match(["x"]), weight=2),
    arguments(lambda d: _head(d, [8, 5], [d.normal(2, 6, 8), d.mask(2, 6, 6)]), names=["x", "mask"]),
    *properties(lambda d: _head(d, [8, 5], [d.normal(2, 6, 8), d.mask(2, 6, 6)]),
                sizes=lambda d: [_head(d, [1, 1], [d.normal(1, 1, 1)]),
                                 _head(d, [64, 40], [d.normal(20, 50, 64), masks.causal(50)]),
                                 _head(d, [12, 320], [d.normal(1, 3, 12)])]),
])
