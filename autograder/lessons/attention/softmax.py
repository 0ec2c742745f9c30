import torch

from autograder.judge.table import (
    Check, Comparison, Excludes, ExerciseChecks, arguments, call, defaults, example, function_gradients,
    gradients_match, learns_too, matches_reference, near, properties,
)
from autograder.lessons.attention import reference

EXCLUDES = Excludes(
    ["softmax", "scaled_dot_product", "cross_entropy", "finished_attention", "derivatives"],
    instead="Build it from `exp` and `sum`.",
)
LARGE = torch.tensor([[1e4], [-1e4], [0.0]])
FARTHER = torch.tensor([[12.0], [-12.0], [12.0]])
DISTANT = torch.tensor([[40.0], [-40.0], [-150.0]])
FAR_BELOW = torch.tensor([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -150.0])


def _sums(seen: Comparison) -> str | None:
    dim = seen.inputs["kwargs"].get("dim", -1)
    sums = seen.got.value.sum(dim)
    if near(sums, torch.ones_like(sums)) or not sums.isfinite().all():
        return None
    other = next((d for d in range(-1, -sums.dim() - 2, -1) if _sums_to_one(seen.got.value, d)), None)
    turned = "" if other is None else f" It does along dimension {other}."
    return f"With dim={dim}, the result should sum to 1 along that dimension, but it doesn't.{turned}"


def _sums_to_one(value: torch.Tensor, dim: int) -> bool:
    return near(value.sum(dim), torch.ones_like(value.sum(dim)))


exercise = ExerciseChecks(reference=reference.softmax, judge=matches_reference(_sums),
    excludes=EXCLUDES,
    examples=[
        example(lambda d: call(d.normal(2, 3, scale=2.0))),
        example(lambda d: call(d.normal(2, 2, 3), dim=1)),
        example(lambda _: call(torch.tensor(  # what is subtracted shows by the rows that fail
            [[1000.0, 1001.0, 999.0], [0.0, float("-inf"), 1.0], [2.0, 0.0, 1.0], [-80.0, 80.0, 0.0]]))),
        example(lambda d: function_gradients(d.normal(2, 3), cotangent=d.normal(2, 3)),
                shown="softmax(x), with gradients"),
    ], checks=[
    learns_too(Check("rows", "each row of a table becomes a distribution",
                     lambda d: call(d.normal(3, 7, scale=2)), weight=2),
               lambda d: function_gradients(d.normal(3, 7), cotangent=d.normal(3, 7)), ["x"]),
    learns_too(Check("other-dimension", "it works along any dimension, not only the last",
                     lambda d: call(d.normal(3, 4, 5, scale=2), dim=1)),
               lambda d: function_gradients(d.normal(3, 4, 5), dim=1, cotangent=d.normal(3, 4, 5)), ["x"]),
    Check("large-entries", "entries of ±10 000 give finite weights",  # 12 apart: rounding changes no weight
          lambda d: call(LARGE + FARTHER * torch.tensor([d.different(7, 0, 7) for _ in LARGE]))),
    learns_too(Check("distant-rows", "rows that lie hundreds apart don't affect each other",
                     lambda d: call(d.normal(3, 7) + DISTANT + FAR_BELOW)),
               lambda d: function_gradients(d.normal(3, 7) + DISTANT, cotangent=d.normal(3, 7)), ["x"]),
    Check("minus-infinity", "an entry of minus infinity gets a weight of exactly 0",
          lambda d: call(d.normal(4, 6).masked_fill(~d.mask(4, 6), float("-inf")))),
    Check("learns", "gradients flow back to x",
          lambda d: function_gradients(d.normal(3, 4, 5), dim=1, cotangent=d.normal(3, 4, 5)),
          gradients_match(["x"], output=matches_reference(_sums)), weight=3),
    arguments(lambda d: call(d.normal(2, 3, 5)), _sums, weight=1),
    *properties(lambda d: call(d.normal(3, 5)),
                sizes=lambda d: [call(d.normal(1, 1)), call(d.normal(60, 70)), call(d.normal(3)),
                                 call(d.normal(2, 3, 2, 4, 3, 2), dim=2)]),
    defaults(lambda d: [call(d.normal(3, 4, 5))], dim=(-1, 0)),
])
