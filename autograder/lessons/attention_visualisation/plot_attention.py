"""Checks of `plot_attention`: what is read off the page, wherever matplotlib keeps it."""

import re
from dataclasses import replace
from typing import Any

import torch

from autograder.judge.table import (
    Check, Comparison, Draw, ExerciseChecks, example, facts, near, no_side_effects, properties, through,
)
from autograder.lessons.attention_visualisation import reference
from autograder.lessons.attention_visualisation.fixtures import DrawHeatMap

Q, K = ([f"{letter}{place}" for place in range(40)] for letter in "qk")
SENTENCE = ["[CLS]", "the", "cat", "sat", "on", "the", "mat", "[SEP]"]


def _about_picture(seen: Comparison) -> str | None:
    got, want = seen.got.value, seen.expected.value
    if got.get("on the axes given") is False or got.get("elsewhere"):
        return "The picture should be on the Axes passed in as `ax`, and on no others."
    cells = want["cells"]
    known = {
        "Queries and keys are swapped: queries run down, keys run across.": cells.T,
        "The rows are upside down: the first query goes at the top.": cells.flip(0),
        "The columns are reversed: the first key goes on the left.": cells.flip(1),
    }
    if not near(got["cells"], cells):
        found = (said for said, form in known.items() if near(got["cells"], form))
        return next(found, "The heat map shows different numbers from the weights it was given.")
    if got["scale"] != [0.0, 1.0]:
        return "The colour scale should go from 0 to 1. Set `vmin` and `vmax`."
    if _only_numbers([*got["rows"], *got["columns"]]):
        return "The labels are numbers. Label the rows with the queries and the columns with the keys."
    if got["on edges"]:
        return (
            "Some labels are at the edge of a cell, not at its centre. The centre of cell i is at "
            "i + ½ in a seaborn heat map, and at i in `imshow`."
        )
    rows = _about_labels(got["rows"], want["rows"], "queries (rows)")
    return rows or _about_labels(got["columns"], want["columns"], "keys (columns)")


def _only_numbers(labels: list[str]) -> bool:
    """Return whether every label is a number, as where matplotlib chooses what to write."""
    written = [label.replace("−", "-") for label in labels if label]
    return bool(written) and all(re.fullmatch(r"-?\d+(\.\d+)?", label) for label in written)


def _about_labels(got: Any, want: list[str], what: str) -> str | None:
    if got == want:
        return None
    missing = [place for place, mine in enumerate(got[: len(want)]) if not mine]
    if missing:
        return f"{len(missing)} of {len(want)} {what} have no label, starting with number {missing[0]}."
    if got[::-1] == want:
        return f"The labels of the {what} are in reverse order."
    return f"The labels of the {what} are not their tokens in order."


def _drawn(draw: Draw, queries: list[str], keys: list[str], *, second: bool = False) -> DrawHeatMap:
    weights = draw.normal(len(queries), len(keys), scale=1.5).softmax(dim=-1)
    return DrawHeatMap(weights, queries, keys, second)


def _small_weights(draw: Draw) -> DrawHeatMap:
    weights = 0.1 + 0.05 * draw.normal(4, 9).sigmoid()
    return DrawHeatMap(weights / weights.sum(dim=-1, keepdim=True), Q[:4], K[:9])


JUDGE = no_side_effects(_about_picture, names=["weights", "queries", "keys"], any_form=True, titled=False)

exercise = ExerciseChecks(reference=reference.plot_attention, judge=JUDGE,
    examples=[
        example(lambda _: through("plot_attention", torch.tensor([[0.5, 0.25, 0.25], [0.1, 0.1, 0.8]]),
                                  ["a", "b"], ["x", "y", "z"]), "heat",
                shown="plot_attention(weights, queries, keys, ax=ax)"),
        example(lambda _: through("plot_attention", torch.full((2, 30), 1 / 30), ["a", "b"],
                                  [f"k{n}" for n in range(30)]),
                shown="plot_attention(weights, queries, keys, ax=ax)"),
    ], checks=[
    Check("five-by-seven", "five queries down, seven keys across",
          lambda d: _drawn(d, Q[:5], K[:7]), weight=2),
    Check("axes-given", "drawn on the Axes that are passed in, and on no others",
          lambda d: _drawn(d, Q[:4], K[:3], second=True)),
    Check("square", "as many queries as keys: nothing is swapped or upside down",
          lambda d: _drawn(d, Q[:6], K[:6])),
    Check("small-weights", "the colour scale goes from 0 to 1, even if all weights are small",
          _small_weights),
    Check("many-keys", "every one of 36 keys is labelled", lambda d: _drawn(d, Q[:3], K[:36])),
    Check("many-queries", "every one of 38 queries is labelled",
          lambda d: _drawn(d, Q[:38], K[:4]), weight=0.5),
    Check("seaborn", "it is a seaborn heat map",
          lambda d: replace(_drawn(d, Q[:3], K[:4]), kind=True), facts({
              "cells": "The weights are drawn as an image. Use `sns.heatmap`, as the exercise asks."}),
          weight=2),
    Check("repeated", "tokens that occur more than once keep their places",
          lambda d: _drawn(d, SENTENCE, SENTENCE)),
    Check("single", "a single query",
          lambda d: _drawn(d, ["<sos>"], ["4", "0", "7", "0", "<eos>"]), weight=0.5),
    *properties(lambda d: _drawn(d, Q[:4], K[:5]),
                sizes=lambda d: [_drawn(d, Q[:1], K[:2]), _drawn(d, Q[:40], K[:40])]),
])
