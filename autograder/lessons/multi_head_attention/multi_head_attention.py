from collections.abc import Sequence

import torch

from autograder.judge import explain, masks, modules, weights
from autograder.judge.table import (
    FINISHED_ATTENTION, NEARLY_ALL, CallModule, Check, Comparison, Draw, ExerciseChecks, Operation,
    arguments, example, facts, gradients_match, matches_reference, module, module_learns_too, near, outputs,
    properties, samples_mix, through,
)
from autograder.lessons.multi_head_attention.fixtures import BIAS, DropoutOnWeights
from coursework import stand_ins

CLOSE = 1e-4
QKV = ["query", "key", "value"]
DROPS_NOTHING = facts({
    "changes": "Every value is 1 here, so every head should return exactly 1, but it doesn't: is dropout "
               "active where it should be off?"})
DROPS_WEIGHTS = facts({
    "changes": "In train mode with much dropout, the heads return exactly what they return without dropout.",
    "bias": "Dropout sets whole outputs to 0, with the bias of `w_o` in them. Apply it to the weights.",
    "together": "Dropout sets single features to 0, not whole weights. Apply it before the values "
                "are averaged."})


def _heads_see_a_slice(seen: Comparison) -> str | None:
    """Say which head gives the same weights in both calls."""
    (_, before), (_, after) = seen.got.value
    still = (before - after).abs().amax(dim=(0, 2, 3)) < 1e-6
    if not still.any():
        return None
    return (
        f"Head {int(still.nonzero()[0])} does not change when the last feature of the tokens changes: "
        "it sees only its own slice of x. Project first, then split."
    )


def _future_leaks(seen: Comparison) -> str | None:
    """Say which output differs between the first two calls, in which only the last token does."""
    before, after, again = outputs(seen)  # the third call is the first once more
    if not near(before, again, CLOSE):
        return explain.RANDOM
    moved = (before - after).abs().amax(dim=(0, 2))[:-1] > CLOSE
    if not moved.any():
        return None
    return (
        f"The future leaks: the output at position {int(moved.nonzero()[0])} changes when only the last "
        "token does, although the mask is causal. Look at the mask, and at how heads are split and merged."
    )


def _pair(seen: Comparison) -> str | None:
    """Say which of the pair is wrong, and what is wrong with the weights."""
    (output, weights), (right, wanted) = seen.got.value, seen.expected.value
    mask = next(iter(seen.inputs["calls"][0][3:]), None)
    mask = mask[:, None] if mask is not None and mask.dim() == 3 else mask  # the dimension of the heads
    said = explain.attention_weights(weights, mask)
    if said or (not near(weights, wanted, CLOSE) and not near(output, right, CLOSE)):
        return said or "The weights are already wrong. Look at `w_q`, `w_k`, the scale and the split."
    if near(output, right, CLOSE):
        return "The output is right, but the second value is not the weights of every head."
    if near(output.flatten().sort().values, right.flatten().sort().values):
        return "The output has the right numbers in the wrong places. How are the heads merged?"
    return "The weights are right, but the output is not. Look at the values, the merge and `w_o`."


def _attend(draw: Draw, d_model: int, num_heads: int, *calls: Sequence[torch.Tensor]) -> CallModule:
    return module([d_model, num_heads], weights.attention(draw, "", d_model), *calls)


def _cross(draw: Draw, batch: int = 3) -> list[torch.Tensor]:
    """Return four queries (B, 4, 10), and seven keys and values (B, 7, 10)."""
    return [draw.normal(batch, length, 10) for length in (4, 7, 7)]


def _every_feature(draw: Draw) -> Operation:
    first, noise = draw.normal(2, 5, 6), draw.normal(2, 5, 1, scale=2)
    second = torch.cat([first[..., :-1], first[..., -1:] + noise], dim=-1)
    return _attend(draw, 6, 3, [first] * 3, [second] * 3)


def _causal(draw: Draw) -> Operation:
    first, noise = draw.normal(3, 5, 12), draw.normal(3, 1, 12, scale=2)
    second = torch.cat([first[:, :-1], first[:, -1:] + noise], dim=1)
    calls = [[x, x, x, masks.causal(5)] for x in (first, second, first)]
    return _attend(draw, 12, 2, *calls)


def _nothing_to_see(draw: Draw) -> Operation:
    mask = draw.mask(3, 4, 7)
    mask[0, 2], mask[2, 1] = False, False
    return _attend(draw, 10, 2, [*_cross(draw), mask])


def _ones(draw: Draw) -> weights.Weights:
    """Return weights that make every value 1 and add BIAS to the merged heads."""
    made = {"w_v.weight": torch.zeros(12, 12), "w_v.bias": torch.ones(12)}
    made |= {"w_o.weight": torch.eye(12), "w_o.bias": torch.full((12,), BIAS)}
    return weights.attention(draw, "", 12) | made


def _dropout(draw: Draw, *rate: float, train: bool) -> Operation:
    calls = [draw.normal(2, length, 12) for length in (5, 9, 9)]
    return modules.asked_as(DropoutOnWeights, module([12, 3, *rate], _ones(draw), calls, train=train))


exercise = ExerciseChecks(reference=stand_ins.MultiHeadAttention, judge=matches_reference(_pair),
    excludes=FINISHED_ATTENTION,
    examples=[
        example(lambda d: _attend(d, 4, 2, [d.normal(1, 2, 4), d.normal(1, 3, 4), d.normal(1, 3,
                4)]), "heat"),
        example(lambda d: _attend(d, 4, 2, [*[d.normal(2, 3, 4)] * 3, masks.padding([1, 3])]), "heat"),
        example(lambda d: _attend(d, 2, 1, [d.normal(1, 2, 2), d.normal(1, 2, 2), d.normal(1, 2, 2),
                                            torch.tensor([[True, False], [False, False]])]), "heat"),
        example(lambda d: through("dropped_attention", d.normal(1, 2, 2), NEARLY_ALL),
                shown=f"MultiHeadAttention(2, 1, dropout={NEARLY_ALL}).train()(x, x, x)[0]"),
    ], checks=[
    module_learns_too((3, 4, 10),
    Check("cross", "four queries attend to seven keys, and query, key and value all differ",
          lambda d: _attend(d, 10, 2, _cross(d)), weight=2), QKV),
    module_learns_too((2, 5, 9), Check("self-attention", "self-attention: query, key and value are the same",
          lambda d: _attend(d, 9, 3, [d.normal(2, 5, 9)] * 3)), QKV),
    Check("one-head", "a single head",
          lambda d: _attend(d, 6, 1, [d.normal(2, n, 6) for n in (3, 5, 5)]), weight=0.5),
    Check("narrow", "as many heads as features, samples and tokens",
          lambda d: _attend(d, 4, 4, [d.normal(4, 4, 4) for _ in range(3)]), weight=0.5),
    Check("every-feature", "every head uses every feature", _every_feature,
          matches_reference(_heads_see_a_slice, _pair)),
    Check("causal", "under a causal mask, no output depends on a later token", _causal,
          matches_reference(_future_leaks, _pair)),
    Check("alone", "a sample gives the same result alone and in a batch",
          lambda d: modules.alone_twice(_attend(d, 10, 2, _cross(d))), matches_reference(samples_mix, _pair)),
    Check("shared-mask", "a mask (T_q, T_k) for all samples",
          lambda d: _attend(d, 10, 2, [*_cross(d), d.mask(4, 7)])),
    module_learns_too((3, 4, 10), Check("own-masks", "a mask (B, T_q, T_k), different for each sample",
          lambda d: _attend(d, 10, 2, [*_cross(d), d.mask(3, 4, 7)])), QKV),
    module_learns_too((3, 4, 10),
    Check("padding", "a padding mask (B, 1, T_k), with a different length in each sample",
          lambda d: _attend(d, 10, 2, [*_cross(d), masks.padding([4, 7, 2])])), QKV),
    Check("batch-equals-heads", "as many samples as heads: each mask stays with its sample and its call",
          lambda d: _attend(d, 10, 2, [*_cross(d, 2), masks.padding([3, 7])],
                            [*_cross(d, 2), d.mask(2, 4, 7)], _cross(d, 2))),
    Check("nothing-to-see",
          "a query that may attend to nothing gets zero weights, and the bias of w_o", _nothing_to_see),
    Check("dropout-off", "dropout is off in eval mode",
          lambda d: _dropout(d, 0.8, train=False), DROPS_NOTHING),
    Check("dropout-default", "without the dropout argument, nothing is dropped, even in train mode",
          lambda d: _dropout(d, train=True), DROPS_NOTHING, weight=0.5),
    Check("dropout-on", "in train mode, dropout applies to the weights",
          lambda d: _dropout(d, 0.8, train=True), DROPS_WEIGHTS),
    Check("not-divisible", "a d_model that is not divisible by num_heads raises a ValueError",
          lambda d: module([10, 4], {}, [d.normal(2, 3, 10)] * 3), raises="ValueError"),
    arguments(lambda d: _attend(d, 10, 2, [*_cross(d), d.mask(3, 4, 7)]),
              _pair, names=["query", "key", "value", "mask"], weight=1),
    Check("learns", "gradients reach all four layers, and query, key and value",
          lambda d: modules.gradients(_attend(d, 10, 2, _cross(d)), d.normal(3, 4, 10), of_arguments=True),
          gradients_match(QKV)),
    *properties(lambda d: _attend(d, 10, 2, [*_cross(d), d.mask(3, 4, 7)]),
                sizes=lambda d: [_attend(d, 1, 1, [d.normal(1, 1, 1)] * 3),
                                 _attend(d, 48, 8, [*(d.normal(12, n, 48) for n in (40, 50, 50)),
                                                    masks.padding(range(39, 51))])]),
])
