from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch

from autograder.judge import masks, modules
from autograder.judge.table import (
    FINISHED_ATTENTION, Check, Comparison, Draw, ExerciseChecks, Operation, ReadState, arguments, defaults,
    example, gradients_match, matches_reference, module, module_learns_too, near, positions_change,
    properties,
)
from autograder.lessons.modern_llm import drawn, reference
from coursework.engine.modern_parts import InPieces

D, HEADS, KV_HEADS = 24, 6, 2  # so heads are 4 wide, and 3 query heads share each key head
INIT = (D, HEADS, KV_HEADS)
NAMES = ("x", "past")


def _attend(
    d: Draw, *shapes: Sequence[int], init: drawn.Init = INIT, wanted: str = "both", base: float = drawn.BASE,
) -> InPieces:
    """Call once for each shape (B, T), each time without a past."""
    calls = [[d.normal(*shape, int(init[0]))] for shape in shapes]
    return drawn.pieces(init, drawn.attention(d, init), *calls, wanted=wanted, base=base)


def _cut(
    d: Draw, *lengths: int, batch: int = 2, init: drawn.Init = INIT, wanted: str = "output"
) -> InPieces:
    """Call with a text piece by piece, each with what the call before returned."""
    x = d.normal(batch, sum(lengths), int(init[0]))
    return drawn.pieces(init, drawn.attention(d, init), *drawn.cut(x, *lengths), wanted=wanted)


def _start_again(d: Draw, *lengths: int) -> InPieces:
    """Call with a text piece by piece, and then with all of it, without a past."""
    asked = _cut(d, *lengths)
    whole = torch.cat([piece for piece, _ in asked.calls], dim=1)
    return replace(asked, calls=[*asked.calls, [whole]])


def _after(d: Draw, length: int, before: int, **fields: Any) -> InPieces:
    """Call with T positions after a past of `before`, made in two pieces; the result is what they give."""
    return drawn.after(_cut(d, before - 3, 3, length, **fields))


def _about_pair(seen: Comparison) -> str | None:
    """Say which of keys and values is wrong, and how."""
    (keys, values), (right_keys, right_values) = seen.got.value, seen.expected.value
    if keys.shape != right_keys.shape:
        return None
    if near(keys, right_keys):
        return None if near(values, right_values) else "The keys are right, and the values are not. " \
            "Values are projected and split into heads, but not turned."
    if near(keys[:, :, :1], right_keys[:, :, :1]) and near(keys.norm(dim=-1), right_keys.norm(dim=-1)):
        return "The keys are right at position 0, and turned by a wrong angle from there on."
    return "The keys are wrong."


def _about_output(seen: Comparison) -> str | None:
    """Say when only position 0 is right, which attends to itself alone."""
    got, want = seen.got.value, seen.expected.value
    if near(got[:, :1], want[:, :1]) and got.size(1) > 1 and not near(got[:, 1:2], want[:, 1:2]):
        return "The output is right at position 0 alone. From position 1 on, rotation and mask matter."
    return None


def _defaults(d: Draw) -> Sequence[Operation]:
    return [drawn.with_defaults(_attend(d, (2, 6), wanted="output"))]


WEIGHTS = ("w_q.weight", "w_k.weight", "w_v.weight", "w_o.weight")

exercise = ExerciseChecks(reference=reference.GroupedQueryAttention, excludes=FINISHED_ATTENTION,
    judge=matches_reference(_about_output),
    examples=[
        example(lambda d: drawn.as_example(_attend(d, (1, 1), init=(8, 4, 2)))),
        example(lambda d: drawn.as_example(_attend(d, (1, 3), init=(8, 2, 1), base=100.0))),
        example(lambda d: drawn.as_example(_cut(d, 3, 2, batch=1, init=(8, 4, 2), wanted="both")),
                shown="GroupedQueryAttention(8, 4, 2)(x), and then (x, past)"),
        example(lambda _: module([8, 2, 4], {})),
    ], checks=[
    module_learns_too((3, 5, D), Check("output", "the output, for three samples of five positions",
          lambda d: _attend(d, (3, 5), wanted="output"), weight=2), ["x"]),
    Check("keys-and-values", "the keys and values that are returned: keys turned once, values as projected",
          lambda d: _attend(d, (3, 5), wanted="past"), matches_reference(_about_pair), weight=1.5),
    Check("one-position", "a single position outputs its values: each query head reads its own group's",
          lambda d: _attend(d, (3, 1), wanted="output"), weight=1.5),
    module_learns_too((2, 4, 20), Check("one-group", "all query heads may share one head of keys and values",
          lambda d: _attend(d, (2, 4), init=(20, 5, 1)), weight=0.5), ["x"]),
    module_learns_too((2, 4, 18), Check("own-groups", "each query head may have keys and values of its own",
          lambda d: _attend(d, (2, 4), init=(18, 3, 3)), weight=0.5), ["x"]),
    Check("equal-sizes", "as many samples as positions as heads",
          lambda d: _attend(d, (4, 4), init=(16, 4, 2)), weight=0.5),
    Check("other-base", "the given base sets the speeds of the rotation",
          lambda d: _attend(d, (2, 6), wanted="output", base=50.0)),
    Check("past", "new positions count on from the past, and see all of it",
          lambda d: _after(d, 5, 7, batch=3), weight=2),
    Check("past-returned", "the pair that is returned holds the past and the new positions, in order",
          lambda d: _after(d, 5, 7, batch=3, wanted="past"), matches_reference(_about_pair)),
    Check("pieces", "a text in pieces, some of them single positions, gives the right outputs",
          lambda d: _cut(d, 4, 1, 1, 2), weight=1.5),
    Check("calls", "calls without a past are independent of each other",
          lambda d: _attend(d, (2, 5), (3, 2), wanted="output"), weight=0.5),
    Check("start-again", "after a text in two pieces, the same text at once gives the same outputs",
          lambda d: _start_again(d, 3, 2), weight=0.5),
    Check("far-on", "positions near 300", lambda d: _after(d, 2, 298, batch=1),
          matches_reference(atol=1e-3, rtol=1e-3), weight=0.5, separates=["mask-after-softmax"]),
    Check("token-moves", "changing one position changes its output and those after it, and none before it",
          lambda d: drawn.changed(_attend(d, (3, 6)), masks.at(2), d.normal(3, D, scale=2)),
          positions_change("position 2 changes")),
    Check("samples-stay-apart", "changing one sample changes the outputs of that sample alone",
          lambda d: drawn.changed(_attend(d, (3, 6)), (1,), d.normal(6, D, scale=2)),
          positions_change("all positions of sample 1 change"), 0.5),
    Check("width-refused", "a width that the heads do not divide is refused with a ValueError",
          lambda _: module([10, 4, 2], {}), weight=0.5, raises="ValueError"),
    Check("groups-refused", "query heads that the key heads do not divide are refused with a ValueError",
          lambda _: module([12, 6, 5], {}), weight=0.5, raises="ValueError"),
    Check("too-many-groups", "more key heads than query heads are refused with a ValueError",
          lambda _: module([8, 2, 4], {}), weight=0.5, raises="ValueError"),
    Check("four-matrices", "four matrices of the right shapes are all the parameters: there is no bias",
          lambda _: ReadState([*INIT], paths=WEIGHTS, facts=["shape"], total=True),
          matches_reference(drawn.too_many)),
    Check("learns", "gradients reach the four matrices and x",
          lambda d: modules.gradients(_attend(d, (2, 5)), d.normal(2, 5, D), of_arguments=True,
                                      registration=True), gradients_match(["x"]), weight=0.5),
    Check("train-mode", "train mode makes no difference",
          lambda d: replace(_attend(d, (2, 5)), train=True), weight=0.5),
    Check("past-kept", "`past` is left as it was, so that two texts may go on from it",
          lambda d: drawn.two_ways_on(_cut(d, 4, 2, 3)), drawn.KEPT),
    arguments(lambda d: _attend(d, (2, 4)), names=NAMES),
    *properties(lambda d: _attend(d, (2, 5)),
                sizes=lambda d: [_attend(d, (1, 1), init=(2, 1, 1)), _attend(d, (1, 70), init=(8, 2, 1)),
                                 _cut(d, 20, 30, batch=12, init=(64, 8, 2))]),
    defaults(_defaults, base=(10000.0, 50.0)),
])
