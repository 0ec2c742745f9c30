"""Checks of `split_heads`."""

import torch

from autograder.judge.authoring import (
    Check, ExerciseChecks, call, example, function_gradients, gradients_match, matches_reference,
    no_side_effects, properties,
)
from autograder.lessons.multi_head_attention import reference
from autograder.lessons.multi_head_attention.explainers import misplaced


def _tokens(*shape: int) -> torch.Tensor:
    """Return features (B, S, D) of which each tells where it is: 10 · token + feature, from token 1 on."""
    tokens = torch.arange(1, shape[0] * shape[1] + 1).reshape(*shape[:2], 1)
    return 10.0 * tokens + torch.arange(shape[2])


exercise = ExerciseChecks(reference=reference.split_heads, judge=matches_reference(misplaced),
    examples=[
        example(lambda _: call(_tokens(1, 3, 4), 2), "source"),
        example(lambda _: call(_tokens(2, 2, 6), 3), "source"),
    ], checks=[
    Check("own-features", "each head gets its own features of every token",
          lambda d: call(d.normal(2, 5, 12), 3), weight=2),
    Check("square", "equal sizes everywhere: no two dimensions are swapped",
          lambda d: call(d.normal(3, 3, 9), 3)),
    Check("one-head", "a single head, in float64, with the argument left unchanged",
          lambda d: call(d.normal(2, 4, 6).double(), 1), no_side_effects(misplaced, names=["x"])),
    Check("one-token", "a single token, in heads of width one",
          lambda d: call(d.normal(2, 1, 5), 5), weight=0.5),
    Check("learns", "gradients flow back to x",
          lambda d: function_gradients(d.normal(2, 3, 8), 2, cotangent=d.normal(2, 2, 3, 4)),
          gradients_match(["x"], output=matches_reference(misplaced)), weight=0.5),
    *properties(lambda d: call(d.normal(2, 5, 12), 3),
                sizes=lambda d: [call(d.normal(1, 1, 1), 1), call(d.normal(3, 40, 96), 12)]),
])
