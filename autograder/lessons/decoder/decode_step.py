from typing import Any

import torch
import torch.nn.functional as F

from autograder.judge import weights
from autograder.judge.table import (
    FINISHED_ATTENTION, Check, Comparison, Draw, ExerciseChecks, arguments, example, facts, matches_reference,
    near, properties, through,
)
from autograder.lessons.decoder.fixtures import DecodeFacts, DecodeSteps

INIT = (12, 3, 20)


def decode_step(layer: Any, x: torch.Tensor, cache: Any = None) -> tuple[torch.Tensor, Any]:
    """Keep keys and values of all heads, and leave the attention to torch: (B,1,D) -> (B,1,D), cache."""
    attention, normed = layer.self_attention, layer.norm1(x)
    q, k, v = (
        part(normed).unflatten(-1, (attention.num_heads, -1)).movedim(-2, 1)
        for part in (attention.w_q, attention.w_k, attention.w_v)
    )
    if cache is not None:
        k, v = (torch.cat(both, dim=2) for both in zip(cache, (k, v), strict=True))
    mixed = F.scaled_dot_product_attention(q, k, v)
    x = x + attention.w_o(mixed.movedim(1, -2).flatten(-2))
    return x + layer.feed_forward(layer.norm2(x)), (k, v)


def _steps(
    draw: Draw, *shapes: tuple[int, int], init: tuple[int, int, int] = INIT,
    kind: type[DecodeSteps] = DecodeSteps,
) -> DecodeSteps:
    """Decode a text for each shape (B, T), in turns."""
    d_model, _, d_ff = init
    texts = [[draw.normal(batch, 1, d_model, scale=2) for _ in range(length)] for batch, length in shapes]
    return kind(init, weights.layer(draw, "", d_model, d_ff), texts)


def _where(seen: Comparison) -> str | None:
    got, want = seen.got.value[0], seen.expected.value[0]
    if got.shape != want.shape:
        return "Each call should return one output, (B, 1, D)."
    wrong = [place for place in range(want.size(1)) if not near(got[:, place], want[:, place])]
    if not wrong:
        return None
    if wrong[0] == 0:
        return "The output is already wrong at position 0, where there is no cache."
    return f"The output is wrong from position {wrong[0]} on. What does the cache hold by then?"


def _disturbed(seen: Comparison) -> str | None:
    """Say so if only one of two texts is decoded as it should be, or neither."""
    pairs = zip(seen.got.value, seen.expected.value, strict=True)
    if all(isinstance(got, torch.Tensor) and near(got, want) for got, want in pairs):
        return None
    return "If two texts are decoded in turns, each with its own cache, the outputs are wrong."


FACTS = facts({"one position a call": "The feed-forward network gets more than one position in a call. "
                                      "Its results for earlier positions aren't needed again."}, _where)

exercise = ExerciseChecks(
    reference=decode_step, judge=matches_reference(_where, any_form=True), excludes=FINISHED_ATTENTION,
    examples=[
        example(lambda d: through("decode_step", d.normal(1, 3, 4)),
                shown="decode_step(layer, x[:, t : t + 1], cache)  # for t = 0, 1, 2"),
    ], checks=[
    Check("first", "position 0, without a cache", lambda d: _steps(d, (2, 1)), weight=0.5),
    Check("second", "two positions: the second attends to the first", lambda d: _steps(d, (2, 2))),
    Check("text", "seven positions, two samples", lambda d: _steps(d, (2, 7)), weight=2),
    Check("turns", "two texts of different sizes, decoded in turns",
          lambda d: _steps(d, (2, 5), (3, 4)), matches_reference(_disturbed, any_form=True)),
    Check("one-position", "the feed-forward network gets one position per call",
          lambda d: _steps(d, (2, 5), kind=DecodeFacts), FACTS),
    arguments(lambda d: _steps(d, (2, 4)), _where, names=["x"], any_form=True),
    *properties(lambda d: _steps(d, (2, 4)),
                sizes=lambda d: [_steps(d, (1, 1), init=(2, 1, 1)), _steps(d, (6, 30), init=(48, 8, 90))]),
])
