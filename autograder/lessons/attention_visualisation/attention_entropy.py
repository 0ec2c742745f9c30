import math

import torch

from autograder.judge.table import (
    Check, Comparison, Draw, ExerciseChecks, call, causal, example, matches_reference, no_side_effects,
    properties,
)
from autograder.lessons.attention_visualisation import reference

EXTREMES = torch.stack([torch.eye(5)[2], torch.full((5,), 0.2), torch.tensor([0.5, 0.5, 0, 0, 0])])


def _impossible(seen: Comparison) -> str | None:
    got, keys = seen.got.value, seen.inputs["args"][0].size(-1)
    if not got.isfinite().all():
        return "Some entropies are NaN or infinite: 0 · log 0 is 0 here, but log(0) is −∞ and 0 · −∞ is NaN."
    if got.min() < -1e-4:
        return "Some entropies are negative. The entropy of N weights is between 0 and ln N."
    if got.max() > math.log(keys) + 1e-4:
        return "Some entropies are too large. The entropy of N weights is between 0 and ln N."
    return None


def _weights(draw: Draw, *shape: int, scale: float = 1.0) -> torch.Tensor:
    return draw.normal(*shape, scale=scale).softmax(dim=-1)


def _with_row(weights: torch.Tensor, place: tuple[int, ...], row: torch.Tensor) -> torch.Tensor:
    weights[place] = row
    return weights


exercise = ExerciseChecks(reference=reference.attention_entropy, judge=matches_reference(_impossible),
    examples=[
        example(lambda _: call(torch.tensor([[1.0, 0.0, 0.0], [0.5, 0.25, 0.25], [0.0, 0.5, 0.5]]))),
        example(lambda d: call(_weights(d, 1, 2, 2, 3))),
    ], checks=[
    Check("heads", "an entropy, in nats, for every query of every head",
          lambda d: call(_weights(d, 3, 4, 5, 7)), weight=2),
    Check("matrix", "a single matrix, without layers and heads",
          lambda d: call(_weights(d, 6, 4, scale=2.0))),
    Check("zeros", "weights of exactly 0 contribute nothing",
          lambda d: call(d.normal(2, 6, 6).masked_fill(~causal(6), -math.inf).softmax(dim=-1))),
    Check("extremes", "all the weight on one key gives 0, equal weights on N keys give ln N",
          lambda _: call(EXTREMES.clone())),
    Check("double", "float64, with the weights left unchanged",
          lambda d: call(_with_row(_weights(d, 2, 3, 5, 5), (0, 0), torch.eye(5)).double()),
          no_side_effects(_impossible, names=["weights"])),
    *properties(lambda d: call(_weights(d, 2, 3, 5)),
                sizes=lambda d: [call(torch.ones(1, 1)), call(_weights(d, 3, 4, 40, 50))]),
])
