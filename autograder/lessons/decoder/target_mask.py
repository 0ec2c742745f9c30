import torch

from autograder.judge.table import (
    Check, Draw, ExerciseChecks, about_mask, arguments, call, defaults, example, matches_reference,
    padded_ids, properties,
)
from coursework import stand_ins_models


def _other_padding(draw: Draw) -> torch.Tensor:
    """Return ids padded with 9, in which 0 is a word like any other."""
    ids = 10 + padded_ids(draw, 20, [3, 6])
    ids[ids == 10], ids[:, 1] = 9, 0
    return ids


def _padding_anywhere(draw: Draw) -> torch.Tensor:
    ids = padded_ids(draw, 30, [5, 5])
    ids[0, :2], ids[1, 2] = 0, 0
    return ids


exercise = ExerciseChecks(reference=stand_ins_models.target_mask, judge=matches_reference(about_mask),
    examples=[
        example(lambda _: call(torch.tensor([[1, 7, 5, 0]])), "mask"),
        example(lambda _: call(torch.tensor([[1, 3, 0, 6, 2], [3, 4, 5, 7, 3]]), pad_id=3), "mask"),
    ], checks=[
    Check("padded", "three targets of different lengths",
          lambda d: call(padded_ids(d, 30, [5, 2, 4])), weight=2),
    Check("causal", "without padding, the mask is just causal", lambda d: call(padded_ids(d, 30, [6, 6]))),
    Check("square", "as many samples as positions", lambda d: call(padded_ids(d, 30, [4, 1, 3, 2]))),
    Check("other-padding", "the given padding id is used", lambda d: call(_other_padding(d), pad_id=9)),
    Check("padding-anywhere", "padding at the beginning, and in the middle",
          lambda d: call(_padding_anywhere(d)), weight=0.5),
    Check("one-token", "a single token sees itself",
          lambda d: call(padded_ids(d, 30, [1, 1, 1])), weight=0.5),
    arguments(lambda d: call(padded_ids(d, 30, [7, 3])), about_mask, names=["ids"]),
    *properties(lambda d: call(padded_ids(d, 30, [5, 2, 4])),
                sizes=lambda d: [call(padded_ids(d, 30, [1])), call(padded_ids(d, 30, [50, 7, 41])),
                                 call(padded_ids(d, 30, [270, 140]))]),
    defaults(lambda d: [call(10 - padded_ids(d, 10, [5, 2]))], pad_id=(0, 10)),
])
