import math

import torch

from autograder.judge import explain
from autograder.judge.table import (
    Check, Comparison, Draw, ExerciseChecks, call, causal, example, matches_reference, no_side_effects,
    properties,
)
from autograder.lessons.attention_visualisation import reference
from autograder.lessons.attention_visualisation.previous_token_score import attentions


def _own_share(seen: Comparison) -> str | None:
    got, layers = seen.got.value, seen.inputs["args"][0].size(0)
    least, own = 0.5**layers, got.diagonal().min()
    if said := explain.attention_weights(got):
        return said
    if own > least - 1e-4:
        return None
    return (
        "A position keeps too little of its own token. Half of it stays in each layer, so after L layers at "
        "least (1/2)^L of it should be left."
    )


def _zero_rows(draw: Draw) -> torch.Tensor:
    weights = attentions(draw, 3, 2, 5)
    weights[0, :, 1] = 0.0
    weights[1, 0, 3] = 0.0
    return weights


exercise = ExerciseChecks(reference=reference.attention_rollout, judge=matches_reference(_own_share),
    examples=[
        example(lambda d: call(attentions(d, 2, 1, 2)), "heat"),
        example(lambda d: call(attentions(d, 2, 3, 4)), "heat"),
        example(lambda d: call(_zero_rows(d)), "heat"),
    ], checks=[
    Check("three-layers", "three layers of four heads", lambda d: call(attentions(d, 3, 4, 6)), weight=2),
    Check("order", "two layers: the later one is on the left of the product",
          lambda d: call(attentions(d, 2, 3, 5) ** 3 * 2)),
    Check("one-layer", "one layer: half its mean, half the identity", lambda d: call(attentions(d, 1, 3, 5))),
    Check("causal", "causal weights: no information flows back from later tokens",
          lambda d: call(d.normal(3, 2, 6, 6).masked_fill(~causal(6), -math.inf).softmax(dim=-1))),
    Check("zero-rows", "rows are renormalised: a head may give a query only zero weights",
          lambda d: call(_zero_rows(d))),
    Check("square", "as many layers as heads as tokens", lambda d: call(attentions(d, 4, 4, 4)), weight=0.5),
    Check("double", "float64, with the weights left unchanged",
          lambda d: call(attentions(d, 2, 3, 4).double()), no_side_effects(_own_share, names=["attentions"])),
    *properties(lambda d: call(attentions(d, 2, 3, 5)),
                sizes=lambda d: [call(attentions(d, 1, 1, 1)), call(attentions(d, 8, 12, 60))]),
])
