"""Checks of `SelfAttentionHead`."""

from collections.abc import Sequence
from typing import Any

from autograder.judge import masks, modules
from autograder.judge.authoring import (
    FINISHED_ATTENTION, CallModule, Check, Draw, ExerciseChecks, arguments, example, gradients_match, module,
    properties,
)
from autograder.lessons.attention import reference


def _head(draw: Draw, init: Sequence[int], *calls: Sequence[Any]) -> CallModule:
    """Call a head with drawn weights; `init` is d_model and d_k, or d_model alone."""
    d_model, d_k = init[0], init[-1]
    weights = draw.linear("w_q", d_model, d_k) | draw.linear("w_k", d_model, d_k)
    return module(init, weights | draw.linear("w_v", d_model, d_model), *calls)


exercise = ExerciseChecks(reference=reference.SelfAttentionHead, excludes=FINISHED_ATTENTION, examples=[
        example(lambda d: _head(d, [3, 2], [d.normal(1, 3, 3)])),
        example(lambda d: _head(d, [2], [d.normal(2, 3, 2), masks.causal(3)])),
    ], checks=[
    Check("narrow", "every token attends to all tokens, with d_k below d_model",
          lambda d: _head(d, [8, 5], [d.normal(3, 6, 8)]), weight=2),
    Check("default-width", "d_k defaults to d_model", lambda d: _head(d, [7], [d.normal(2, 5, 7)])),
    Check("wide", "d_k may exceed d_model", lambda d: _head(d, [6, 11], [d.normal(2, 4, 6)])),
    Check("causal", "under a causal mask, no output depends on a later token",
          lambda d: _head(d, [8, 5], [d.normal(2, 6, 8), masks.causal(6)])),
    Check("padding", "a padding mask, with a different length in each sample",
          lambda d: _head(d, [8, 3], [d.normal(3, 6, 8), masks.padding([6, 2, 4])])),
    Check("calls", "calls are independent: a single token, then another batch",
          lambda d: _head(d, [4, 6], [d.normal(1, 1, 4)], [d.normal(2, 5, 4)])),
    Check("learns", "gradients reach all three projections, and x",
          lambda d: modules.gradients(_head(d, [5, 4], [d.normal(2, 6, 5)]), d.normal(2, 6, 5),
                                      of_arguments=True), gradients_match(["x"]), weight=2),
    arguments(lambda d: _head(d, [8, 5], [d.normal(2, 6, 8), d.mask(2, 6, 6)]), names=["x", "mask"]),
    *properties(lambda d: _head(d, [8, 5], [d.normal(2, 6, 8), d.mask(2, 6, 6)]),
                sizes=lambda d: [_head(d, [1, 1], [d.normal(1, 1, 1)]),
                                 _head(d, [64, 40], [d.normal(20, 50, 64), masks.causal(50)]),
                                 _head(d, [12, 320], [d.normal(1, 3, 12)])]),
])
