from collections.abc import Sequence
from typing import Any

import torch

from autograder.judge import modules
from autograder.judge.table import (
    CallModule, Check, Draw, ExerciseChecks, arguments, defaults, example, gradients_match, module,
    properties,
)
from coursework import stand_ins

PADDED = torch.tensor([[5, 1, 6, 2, 5], [3, 4, 0, 0, 0], [2, 0, 0, 0, 0], [0, 0, 0, 0, 0]])
PADDED_WITH_8 = torch.tensor([[3, 9, 0, 1], [8, 5, 8, 0]])
REPEATED = torch.tensor([[3, 1, 3, 0], [5, 0, 0, 0], [2, 7, 1, 4]])


def _embed(draw: Draw, sizes: Sequence[int], *calls: torch.Tensor, **options: Any) -> CallModule:
    """Load a table (V, D) whose row for padding is zero, and call the module on ids."""
    table = draw.normal(*sizes)
    table[options.get("pad_id", 0)] = 0.0
    return module(sizes, {"embed.weight": table}, *([ids] for ids in calls), **options)


exercise = ExerciseChecks(reference=stand_ins.TokenEmbedding,
    examples=[
        example(lambda d: _embed(d, [5, 4], torch.tensor([[3, 1, 0]]))),
        example(lambda d: _embed(d, [4, 2], torch.tensor([[3, 0], [2, 2]]), pad_id=2)),
        example(lambda d: modules.gradients(_embed(d, [4, 2], torch.tensor([[3, 2], [0, 2]]), pad_id=2),
                                            d.normal(2, 2, 2)),
                shown="TokenEmbedding(4, 2, pad_id=2)(ids), with gradients"),
    ], checks=[
    Check("values", "the rows of the ids, times √d_model",
          lambda d: _embed(d, [13, 6], d.integers(1, 13, 3, 5)), weight=2),
    Check("padded", "padding becomes zeros, other tokens do not", lambda d: _embed(d, [7, 19], PADDED)),
    Check("fresh", "a new embedding starts with zeros for padding, even with another pad_id",
          lambda _: module([9, 5], {}, [torch.full((2, 3), 4)], pad_id=4)),
    Check("fresh-default", "a new embedding starts with zeros for padding if no pad_id is given",
          lambda _: module([8, 6], {}, [torch.zeros(1, 4, dtype=torch.long)])),
    Check("other-pad", "with another pad_id, id 0 is an ordinary token",
          lambda d: _embed(d, [10, 12], PADDED_WITH_8, pad_id=8)),
    Check("learns", "gradients reach the rows that were used; <pad> gets none",
          lambda d: modules.gradients(_embed(d, [9, 7], REPEATED), d.normal(3, 4, 7)),
          gradients_match(), weight=2),
    Check("twice", "the same ids give the same vectors again",
          lambda d: _embed(d, [6, 10], torch.tensor([[5, 2]]), torch.tensor([[5, 2]]))),
    arguments(lambda d: _embed(d, [8, 6], PADDED), names=["ids"]),
    *properties(lambda d: _embed(d, [8, 6], PADDED),
                sizes=lambda d: [_embed(d, [2, 1], torch.tensor([[1]])),
                                 _embed(d, [300, 70], d.integers(1, 300, 20, 40))]),
    defaults(lambda _: [module([8, 6], {}, [PADDED])], pad_id=(0, 3)),
])
