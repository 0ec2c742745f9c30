"""Checks of `one_hot_embed`: the right rows, made by a matrix product."""

import torch

from autograder.judge.table import (
    Check, Comparison, ExerciseChecks, entry_of, example, matches_reference, no_side_effects,
    properties,
)
from autograder.lessons.embeddings import reference
from coursework.engine.products import Embed

LOOKUP = (
    "The values are right, but they don't come from a matrix product: rows are picked out of the table. "
    "Make one-hot rows from the ids and multiply them by the table."
)
ZERO = ("zero-is-nothing",)  # every check has id 0 among its ids
GRADIENT = "The gradient of `table` is missing or wrong. Was the table detached, or copied with `.data`?"


def _in_words(seen: Comparison) -> str:
    values = matches_reference()(entry_of(seen, "output"))
    return values.message or (GRADIENT if seen.got.value["product"] else LOOKUP)


JUDGE = no_side_effects(_in_words, names=("ids", "table"), any_form=True, titled=False)

exercise = ExerciseChecks(reference=reference.one_hot_embed, judge=JUDGE,
    examples=[
        example(lambda d: Embed([torch.tensor([[2, 0, 2]]), d.normal(4, 3)])),
        example(lambda d: Embed([torch.tensor([[1, 2], [0, 1]]), d.normal(4, 2)],
                                cotangent=d.normal(2, 2, 2)),
                shown="one_hot_embed(ids, table), with gradients"),
    ], checks=[
    Check("rows", "each id becomes its row of the table",
          lambda d: Embed([d.integers(0, 11, 2, 4), d.normal(13, 5)]), weight=2, separates=ZERO),
    Check("ends", "the first and the last row, and a table wider than it is long",
          lambda d: Embed([torch.tensor([[0, 6], [6, 0], [2, 4]]), d.normal(7, 9)])),
    Check("small-ids", "a few small ids: the table has more rows than they use",
          lambda d: Embed([d.integers(0, 3, 3, 2), d.normal(17, 4)])),
    Check("square", "a table with as many rows as columns: nothing is swapped",
          lambda d: Embed([d.integers(0, 5, 5, 3), d.normal(6, 6)]), weight=0.5, separates=ZERO),
    Check("double", "a table in float64", lambda d: Embed([d.integers(0, 8, 1, 5), d.normal(9, 6).double()]),
          separates=ZERO),
    Check("learns", "gradients reach the rows of the ids, and no others",
          lambda d: Embed([d.integers(0, 9, 3, 4), d.normal(11, 6)], cotangent=d.normal(3, 4, 6)),
          separates=ZERO),
    *properties(lambda d: Embed([torch.tensor([[0, 6], [5, 0], [2, 4]]), d.normal(8, 6)]),
                sizes=lambda d: [Embed([torch.tensor([[1]]), d.normal(2, 1)]),
                                 Embed([d.integers(0, 90, 20, 30), d.normal(99, 40)])]),
])
