import torch

from autograder.judge import explain, masks
from autograder.judge.table import (
    Check, Comparison, Draw, Excludes, ExerciseChecks, Operation, arguments, call, example,
    function_gradients, gradients_match, learns_too, matches_reference, properties,
)
from coursework import stand_ins

EXCLUDES = Excludes(
    ["scaled_dot_product", "finished_attention"], instead="Build it from your own scores and softmax."
)
QKV = ("q", "k", "v")
WEAK = ("weak-fill",)  # what leaks through it has to be more than the tolerance


def _about_weights(seen: Comparison) -> str | None:
    return explain.attention_weights(seen.got.value[1], seen.inputs["kwargs"].get("mask"))


def _qkv(draw: Draw, *leading: int) -> list[torch.Tensor]:
    """Return five queries (…, 5, 16), seven keys (…, 7, 16) and values (…, 7, 3)."""
    q, k = draw.normal(*leading, 5, 16), draw.normal(*leading, 7, 16)
    return [q, k, draw.normal(*leading, 7, 3)]


def _gradients(draw: Draw, *leading: int, mask: torch.Tensor | None = None) -> Operation:
    return function_gradients(*_qkv(draw, *leading), mask=mask, cotangent=draw.normal(*leading, 5, 3))


def _square_mask(draw: Draw) -> Operation:
    x = draw.normal(3, 6, 4)
    return call(x, draw.normal(3, 6, 4), x, mask=draw.mask(6, 6, share=0.5))


def _large_scores(draw: Draw) -> Operation:
    """Hide key 4, whose scores lie between 100 and 300, while all others are as far below 0.

    Queries and keys are multiples of 1/8, so that every order of summation gives the same scores.
    """
    q, k, v = _qkv(draw, 2)
    hidden = torch.arange(7) == 4
    q, k = (q * 8).round() / 8, (k * 8).round() / 8
    q[..., 0], k[..., 0] = torch.arange(8.0, 28.0, 4.0), torch.where(hidden, 50.0, -50.0)
    return call(q, k, v, mask=~hidden.expand(2, 5, 7))


def _nothing_to_see(draw: Draw) -> Operation:
    mask = draw.mask(2, 5, 7)
    mask[0, 2], mask[1, 4] = False, False
    return call(*_qkv(draw, 2), mask=mask)


exercise = ExerciseChecks(reference=stand_ins.scaled_dot_product_attention,
    judge=matches_reference(_about_weights), excludes=EXCLUDES, examples=[
        example(lambda d: call(d.normal(2, 3, scale=2.0), d.normal(3, 3, scale=2.0), d.normal(3, 2)), "heat"),
        example(lambda d: call(d.normal(2, 3), d.normal(3, 3), d.normal(3, 2),
                               mask=torch.tensor([[True, False, True], [False, False, False]])), "heat"),
        example(lambda d: call(d.normal(2, 1, 3), d.normal(2, 2, 3), d.normal(2, 2, 2),
                               mask=masks.padding([1, 2])), "heat"),
        example(lambda d: function_gradients(d.normal(2, 3), d.normal(3, 3), d.normal(3, 2),
                                             cotangent=d.normal(2, 2)),
                shown="scaled_dot_product_attention(q, k, v), with gradients"),
    ], checks=[
    learns_too(Check("cross", "five queries attend to seven keys, with values of another width",
                     lambda d: call(*_qkv(d, 2)), weight=2), lambda d: _gradients(d, 2), QKV),
    learns_too(Check("square", "equal sizes everywhere: the softmax runs over the keys",
                     lambda d: call(d.normal(6, 6, 6), d.normal(6, 6, 6), d.normal(6, 6, 6))),
               lambda d: function_gradients(d.normal(6, 6, 6), d.normal(6, 6, 6), d.normal(6, 6, 6),
                                            cotangent=d.normal(6, 6, 6)), QKV),
    Check("no-batch", "it works without a batch", lambda d: call(*_qkv(d))),
    arguments(lambda d: call(*_qkv(d, 2), mask=d.mask(2, 5, 7)), _about_weights, weight=1, separates=WEAK),
    learns_too(Check("masked", "hidden keys get a weight of exactly 0",
                     lambda d: call(*_qkv(d, 2), mask=d.mask(2, 5, 7)), weight=2, separates=WEAK),
               lambda d: _gradients(d, 2, mask=d.mask(2, 5, 7)), QKV),
    Check("square-mask", "a square mask is not transposed", _square_mask, separates=WEAK),
    Check("padding", "a padding mask (B, 1, T_k) hides the same keys from every query",
          lambda d: call(*_qkv(d, 3), mask=masks.padding([4, 7, 2])), separates=WEAK),
    learns_too(Check("heads", "batch and heads, with one mask for all heads",
                     lambda d: call(*_qkv(d, 2, 3), mask=d.mask(2, 1, 5, 7)), separates=WEAK),
               lambda d: _gradients(d, 2, 3, mask=d.mask(2, 1, 5, 7)), QKV),
    Check("large-scores", "a hidden key gets no weight, even if all other scores are far lower",
          _large_scores),
    Check("nothing-to-see", "a query that may attend to nothing gets zeros, not NaN", _nothing_to_see),
    Check("learns", "gradients flow back to q, k and v",
          lambda d: _gradients(d, 2, mask=d.mask(2, 5, 7)), gradients_match(QKV), weight=3),
    *properties(lambda d: call(*_qkv(d, 2), mask=d.mask(2, 5, 7)),
                sizes=lambda d: [call(d.normal(1, 1), d.normal(1, 1), d.normal(1, 1)),
                                 call(d.normal(3, 40, 64), d.normal(3, 50, 64), d.normal(3, 50, 32),
                                      mask=d.mask(40, 50)),
                                 call(d.normal(2, 1, 2, 2, 3, 320), d.normal(2, 1, 2, 2, 4, 320),
                                      d.normal(2, 1, 2, 2, 4, 3), mask=masks.causal(4)[:3])], separates=WEAK),
])
