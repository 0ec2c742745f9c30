import torch

from autograder.judge.table import (
    Check, Draw, ExerciseChecks, Operation, arguments, call, defaults, example, no_side_effects, properties,
)
from autograder.lessons.embeddings import reference


def _sequences(draw: Draw, *lengths: int) -> list[list[int]]:
    return [draw.integers(4, 90, length).tolist() for length in lengths]


def _holding_padding(draw: Draw) -> Operation:
    """Return a call with sequences that hold the id of padding: the longest inside and at its end."""
    rows = _sequences(draw, 4, 7, 2)
    rows[1][2] = rows[1][-1] = 0
    return call(rows)


def _other_id(draw: Draw) -> Operation:
    rows = _sequences(draw, 2, 5)
    rows[1][1] = 0
    return call(rows, pad_id=draw.integer(91, 99))


exercise = ExerciseChecks(reference=reference.pad_batch,
    examples=[
        example(lambda _: call([[5, 7, 0], [9], []])),
        example(lambda _: call([torch.tensor([3, 8]), torch.tensor([6, 1, 5])], pad_id=1)),
        example(lambda _: call([[4, 6]])),
    ], checks=[
    Check("lists", "lists of different lengths are padded on the right",
          _holding_padding, weight=2),
    Check("tensors", "LongTensors are padded like lists, and left unchanged",
          lambda d: call([torch.tensor(row) for row in _sequences(d, 3, 1, 6, 5)]), no_side_effects()),
    Check("other-id", "another pad_id", _other_id),
    Check("alone", "a single sequence, and sequences of equal length, get no padding",
          lambda d: call(_sequences(d, 5)), weight=0.5),
    Check("one-empty", "an empty sequence among others becomes all padding",
          lambda d: call(_sequences(d, 2, 0, 4)), weight=0.5),
    arguments(lambda d: call(_sequences(d, 1, 4, 3)), names=["sequences"], weight=1),
    *properties(lambda d: call([torch.tensor(row) for row in _sequences(d, 3, 1, 6)]),
                sizes=lambda d: [call([[5]]), call(_sequences(d, *range(1, 61))), call(_sequences(d, 3, 300)),
                                 call([[d.integer(40_000, 60_000), 2**24 + 1, 2], [2**40]])]),
    defaults(lambda d: [call(_sequences(d, 2, 5))], pad_id=(0, 7)),
])
