import torch

from autograder.judge.table import (
    Check, ExerciseChecks, call, example, function_gradients, gradients_match, matches_reference,
    no_side_effects, properties,
)
from autograder.lessons.multi_head_attention import reference
from autograder.lessons.multi_head_attention.split_heads import misplaced


def _heads(*shape: int) -> torch.Tensor:
    """Return heads (B, H, S, K) of which each entry tells where it belongs: 10 · token + feature."""
    batch, heads, length, width = shape
    tokens = torch.arange(1, batch * length + 1).reshape(batch, 1, length, 1)
    features = torch.arange(heads * width).reshape(1, heads, 1, width)
    return (10.0 * tokens + features).contiguous()


exercise = ExerciseChecks(reference=reference.merge_heads, judge=matches_reference(misplaced),
    examples=[
        example(lambda _: call(_heads(1, 2, 3, 2)), "source"),
        example(lambda _: call(_heads(2, 3, 2, 2)), "source"),
    ], checks=[
    Check("side-by-side", "the heads of each token are side by side",
          lambda d: call(d.normal(2, 3, 5, 4)), weight=2),
    Check("square", "equal sizes everywhere: no two dimensions are swapped",
          lambda d: call(d.normal(3, 3, 3, 3))),
    Check("one-head", "a single head, in float64, with the argument left unchanged",
          lambda d: call(d.normal(2, 1, 4, 6).double()), no_side_effects(misplaced, names=["x"])),
    Check("one-token", "a single token, in heads of width one",
          lambda d: call(d.normal(2, 5, 1, 1)), weight=0.5),
    Check("learns", "gradients flow back to x",
          lambda d: function_gradients(d.normal(2, 2, 3, 4), cotangent=d.normal(2, 3, 8)),
          gradients_match(["x"], output=matches_reference(misplaced)), weight=0.5),
    *properties(lambda d: call(d.normal(2, 3, 5, 4)),
                sizes=lambda d: [call(d.normal(1, 1, 1, 1)), call(d.normal(3, 12, 40, 8))]),
])
