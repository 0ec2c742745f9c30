import torch

from autograder.judge import masks
from autograder.judge.table import (
    Check, Draw, ExerciseChecks, Operation, arguments, call, defaults, example, matches_reference, properties,
)
from coursework import stand_ins


def _other_id(draw: Draw) -> Operation:
    """Pad with 5; 0 and 3 are words like any other."""
    ids = masks.padded_ids(draw, 20, [3, 6], low=6)
    ids[ids == 0] = 5
    ids[1, 2], ids[0, 1] = 0, 3
    return call(ids, pad_id=5)


def _long(draw: Draw) -> Operation:
    """Pad a long batch; among its ids are multiples of 2⁸ and 2¹⁶, which are 0 to a narrower integer."""
    ids = masks.padded_ids(draw, 40_000, [300, 170])
    ids[:, 3], ids[:, 5] = 256, 65_536
    return call(ids)


exercise = ExerciseChecks(reference=stand_ins.padding_mask, judge=matches_reference(masks.about_mask),
    examples=[
        example(lambda _: call(torch.tensor([[7, 4, 9, 0], [5, 0, 0, 0]])), "mask"),
        example(lambda _: call(torch.tensor([[0, 3, 5, 5], [5, 2, 0, 4]]), pad_id=5), "mask"),
    ], checks=[
    Check("lengths", "real tokens are True, padding is False",
          lambda d: call(masks.padded_ids(d, 20, [7, 4, 1]))),
    Check("other-id", "another padding id", _other_id),
    Check("only-padding", "a sample that is all padding",
          lambda d: call(masks.padded_ids(d, 20, [0, 5, 2])), weight=0.5),
    Check("padding-first", "padding may come first",
          lambda d: call(masks.padded_ids(d, 20, [4, 2, 6]).flip(1)), weight=0.5),
    arguments(lambda d: call(masks.padded_ids(d, 20, [3, 5])), masks.about_mask, names=["ids"]),
    *properties(lambda d: call(masks.padded_ids(d, 20, [3, 5])),
                sizes=lambda d: [call(masks.padded_ids(d, 20, [1])),
                                 call(masks.padded_ids(d, 99, range(1, 70))), _long(d)]),
    defaults(lambda d: [call(masks.padded_ids(d, 6, [3, 5]))], pad_id=(0, 5)),
])
