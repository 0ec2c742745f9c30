import torch

from autograder.judge.table import (
    Check, Comparison, Draw, ExerciseChecks, arguments, call, defaults, example, matches_reference, near,
    properties,
)
from autograder.lessons.modern_llm import reference

TOP = 15  # the highest level


def _weight(d: Draw, rows: int, blocks: int, block: int = 32) -> torch.Tensor:
    """Return a matrix whose weights lie within a third of a step of their levels: rounding decides nothing.

    Each block holds the levels 0 and 15, somewhere, and has a step and a lowest weight of its own.
    """
    levels = d.integers(0, TOP + 1, rows, blocks, block).float()
    levels = levels + (d.normal(rows, blocks, block) / 6).clamp(-0.3, 0.3)
    places = d.normal(rows, blocks, block).argsort(dim=-1)
    levels = levels.scatter(-1, places[..., :1], 0.0).scatter(-1, places[..., 1:2], float(TOP)).clamp(0, TOP)
    step = 0.05 + 0.1 * d.normal(rows, blocks, 1).abs()
    return (d.normal(rows, blocks, 1) + step * levels).flatten(1)


def _equal_block(d: Draw) -> torch.Tensor:
    weight = _weight(d, 2, 3, 4)
    weight[1, 4:8] = weight[1, 4]
    return weight


def _wrong_part(seen: Comparison) -> str | None:
    """Say which of the three tensors is wrong, the one that the others follow from first."""
    names = ("levels", "step", "low")
    wrong = {name for name, got, want in zip(names, seen.got.value, seen.expected.value, strict=True)
             if not near(got.double(), want.double())}
    if "low" in wrong:
        return "`low` is wrong: it is the smallest weight of each block."
    if "step" in wrong:
        return "`low` is right, but `step` is not: 15 steps lead from the smallest weight to the largest."
    return "Only the levels are wrong. Are they rounded to the nearest?" if wrong else None


exercise = ExerciseChecks(reference=reference.quantise, judge=matches_reference(_wrong_part),
    examples=[
        example(lambda _: call(torch.tensor([[0.0, 1.5, 0.32, 0.79, -1.0, -1.0, -1.0, -1.0]]), 4)),
        example(lambda _: call(torch.tensor([[0.5, 3.5, 2.36, 1.26, 0.0, 1.5],
                                             [1.0, -5.0, -2.7, -3.3, 2.0, 2.0]]), 3)),
        example(lambda _: call(torch.ones(2, 6), 4)),
    ], checks=[
    Check("blocks", "each block has levels, a step and a lowest weight of its own",
          lambda d: call(_weight(d, 3, 4, 8), 8), weight=2),
    Check("default-block", "blocks of 32", lambda d: call(_weight(d, 5, 2))),
    Check("one-block", "a row is a single block", lambda d: call(_weight(d, 7, 1, 6), 6), weight=0.5),
    Check("square", "as many rows as weights in a row", lambda d: call(_weight(d, 12, 3, 4), 4)),
    Check("equal-weights", "a block of equal weights has step and levels 0",
          lambda d: call(_equal_block(d), 4)),
    Check("refused", "rows that cannot be cut into blocks are refused with a ValueError",
          lambda d: call(d.normal(4, 10), 4), weight=0.5, raises="ValueError"),
    Check("too-short", "rows shorter than a block are refused with a ValueError",
          lambda d: call(d.normal(64, 16)), weight=0.5, raises="ValueError"),
    arguments(lambda d: call(_weight(d, 3, 2, 8), 8), _wrong_part, names=["weight", "block"]),
    *properties(lambda d: call(_weight(d, 3, 2, 8), 8),
                sizes=lambda d: [call(torch.tensor([[2.0]]), 1), call(_weight(d, 40, 6))]),
    defaults(lambda d: [call(_weight(d, 2, 2, 32))], block=(32, 16)),
])
