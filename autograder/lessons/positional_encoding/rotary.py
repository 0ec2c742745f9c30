import torch

from autograder.judge.table import (
    CLOSE, Check, Comparison, ExerciseChecks, arguments, call, defaults, example, function_gradients,
    gradients_match, matches_reference, near, properties,
)
from autograder.lessons.positional_encoding import judges, reference


def _wrong_pair(seen: Comparison) -> str:
    got, want = seen.got.value.float(), seen.expected.value.float()
    _, position, column = ((got - want).abs() > CLOSE).nonzero()[0].tolist()
    columns = slice(column // 2 * 2, column // 2 * 2 + 2)
    mine, right = got[:, position, columns], want[:, position, columns]
    said = f"Pair {column // 2} is wrong at position {position}."
    if not near(mine.norm(dim=-1), right.norm(dim=-1)):
        return f"{said} Rotating a pair keeps its length, but yours changes it."
    if position == 0:
        return f"{said} Every angle is 0 there, so nothing rotates."
    return f"{said} Its length is right, so it was rotated by the wrong angle, or mirrored."


JUDGE = matches_reference(_wrong_pair, atol=judges.LOOSE)

exercise = ExerciseChecks(reference=reference.rotary, judge=JUDGE,
    examples=[
        example(lambda d: call(d.normal(1, 3, 2))),
        example(lambda d: call(d.normal(2, 2, 4), base=100.0)),
        example(lambda d: call(d.normal(1, 2, 3))),
    ], checks=[
    Check("turns", "each pair rotates by an angle that grows with the position",
          lambda d: call(d.normal(2, 7, 6)), weight=2),
    Check("wide", "later pairs rotate more slowly, by the right factor",
          lambda d: call(d.normal(1, 9, 2 * d.integer(20, 30))), weight=2),
    Check("base", "another base gives other speeds", lambda d: call(d.normal(2, 5, 8), base=50.0)),
    Check("one-pair", "a single pair of features", lambda d: call(d.normal(3, 5, 2)), weight=0.5),
    Check("one-position", "a single position rotates nothing", lambda d: call(d.normal(2, 1, 4)), weight=0.5),
    Check("odd-width", "an odd width is refused with a ValueError",
          lambda d: call(d.normal(2, 4, 5)), weight=0.5, raises="ValueError"),
    Check("gradients", "gradients pass through to x",
          lambda d: function_gradients(d.normal(2, 4, 6), cotangent=d.normal(2, 4, 6)),
          gradients_match(["x"], output=JUDGE)),
    arguments(lambda d: call(d.normal(2, 4, 6)), _wrong_pair, names=["x"]),
    *properties(lambda d: call(d.normal(2, 4, 6)),
                sizes=lambda d: [call(torch.ones(1, 1, 2)), call(d.normal(5, 120, 64))]),
    defaults(lambda d: [call(d.normal(2, 4, 8))], base=(10000.0, 50.0)),
])
