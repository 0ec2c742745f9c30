import torch

from autograder.judge.table import (
    CLOSE, PASSED, Check, Comparison, ExerciseChecks, Verdict, call, example, matches_reference, properties,
)
from autograder.lessons.positional_encoding import judges, reference

FARTHEST = 200


def shifts(matrix: torch.Tensor, offset: int) -> bool:
    """Return whether a matrix (D, D) takes PE[p] to PE[p + offset], for every p up to 200."""
    start = max(0, -offset)
    table = reference.sinusoidal_encoding(FARTHEST + max(0, offset) + 1, matrix.size(0))
    moved = table[start : FARTHEST + 1] @ matrix.T
    return torch.allclose(moved, table[start + offset :][: len(moved)], atol=2 * judges.LOOSE)


def _shifts_positions(seen: Comparison) -> Verdict:
    """Want a matrix that shifts positions, whether or not it is the reference's."""
    got, (offset, width) = seen.got.value, seen.inputs["args"]
    verdict = matches_reference(_another_shift, _wrong_entry)(seen)
    square = isinstance(got, torch.Tensor) and got.shape == (width, width)
    return PASSED if square and not verdict.passed and shifts(got, offset) else verdict


def _another_shift(seen: Comparison) -> str | None:
    offset = seen.inputs["args"][0]
    others = {
        1: f"by one, where the offset is {offset}.", 2 * offset: "by twice the offset.",
        offset + 1: "by one more than the offset.", offset - 1: "by one less than the offset.",
        -offset: "by the offset, but the other way. Does it rotate the wrong way, or is it transposed?",
        0: "by 0: it is the identity.",
    }
    found = (said for other, said in others.items() if other != offset and shifts(seen.got.value, other))
    return next((f"Your matrix moves every position {said}" for said in found), None)


def _wrong_entry(seen: Comparison) -> str:
    row, column = ((seen.got.value - seen.expected.value).abs() > CLOSE).nonzero()[0].tolist()
    if row // 2 != column // 2:
        return f"Entry [{row}, {column}] mixes two pairs. Outside the 2 × 2 blocks, every entry is 0."
    return (
        f"The block of pair {row // 2} is wrong at [{row}, {column}]. It should hold cos b, sin b above "
        "−sin b, cos b for b = offset / 10000^(2i / d_model)."
    )


exercise = ExerciseChecks(reference=reference.shift_matrix, judge=judges.any_float(_shifts_positions),
    examples=[
        example(lambda _: call(1, 4)),
        example(lambda _: call(-2, 2)),
        example(lambda _: call(30, 6)),
    ], checks=[
    Check("forward", "three positions forward, from every position", lambda _: call(3, 8), weight=2),
    Check("one-step", "one position forward, in a wider encoding", lambda d: call(1, 2 * d.integer(6, 9))),
    Check("back", "backwards: a negative offset", lambda d: call(-d.integer(4, 9), 10), weight=2),
    Check("stay", "an offset of 0 gives the identity", lambda _: call(0, 6)),
    Check("one-pair", "a single pair", lambda _: call(2, 2), weight=0.5),
    Check("far", "a long way forward", lambda d: call(d.integer(50, 90), 12)),
    Check("dtype", "the matrix is float32", lambda _: call(4, 6), judges.is_float32, weight=0.5),
    *properties(lambda _: call(2, 6), strided=False,
                sizes=lambda d: [call(-1, 2), call(d.integer(30, 60), 64)]),
])
