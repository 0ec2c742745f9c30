import torch

from autograder.judge.table import (
    Check, Comparison, ExerciseChecks, call, example, function_gradients, gradients_match, matches_reference,
    no_side_effects, properties,
)
from autograder.lessons.multi_head_attention import reference

DIMENSIONS = {3: ("sample", "token", "feature"), 4: ("sample", "head", "token", "feature")}


def misplaced(seen: Comparison) -> str | None:
    """Say where the first wrong number comes from, and which one belongs there."""
    got, want, x = seen.got.value, seen.expected.value, seen.inputs["args"][0]
    place = tuple((~torch.isclose(got, want)).nonzero()[0].tolist())
    came, meant = _origin(got[place], x), _origin(want[place], x)
    return f"Entry {list(place)} of your result is {came}. It should be {meant}." if came else None


def _origin(number: torch.Tensor, x: torch.Tensor) -> str:
    found = (x == number).nonzero().tolist()
    if len(found) != 1:
        return ""
    return ", ".join(f"{name} {i}" for name, i in zip(DIMENSIONS[x.dim()], found[0], strict=True))


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
