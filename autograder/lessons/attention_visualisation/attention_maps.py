from collections.abc import Sequence
from typing import Any

import torch

from autograder.judge import explain, weights
from autograder.judge.table import (
    Check, Comparison, Draw, ExerciseChecks, example, matches_reference, no_side_effects, properties, through,
)
from autograder.lessons.attention_visualisation import reference
from autograder.lessons.attention_visualisation.fixtures import CollectMaps

SIZES = (13, 17, 8, 4, 2, 12)  # vocabularies, d_model, heads, layers, d_ff
FACTS = {
    "hooks left": "Hooks are still on the model afterwards. Keep what `register_forward_hook` returns, "
    "and call its `remove()`.",
    "train mode afterwards": "The model is left in a different mode. Note `model.training` first.",
    "parts in another mode": "Some parts of the model are left in a different mode than the model itself.",
    "weights unchanged": "The model's weights have changed.",
    "trainable afterwards": "The model's weights no longer require a gradient.",
    "changed later": "Running the model again changes the maps that were returned earlier.",
}


def _first_wrong_map(seen: Comparison) -> str | None:
    for key, want in seen.expected.value.items():
        got = seen.got.value[key]
        wrong = [layer for layer in range(len(want)) if not explain.near(got[layer], want[layer])]
        if wrong and (said := explain.attention_weights(got, want > 0)):
            return f"In '{key}': {said}"
        if wrong:
            return f"In '{key}', layer {wrong[0]} does not hold the weights that the model uses here."
    return None


def _ids(draw: Draw, length: int, real: int, pad: int = 0) -> torch.Tensor:
    """Return ids (1, length), of which those after the first `real` are padding."""
    ids = draw.integers(6, 13, 1, length)
    ids[:, real:] = pad
    return ids


def _maps(draw: Draw, *lengths: int, sizes: Sequence[int] = SIZES, **options: Any) -> CollectMaps:
    """Ask for source and target of these lengths, without padding; several pairs are several calls."""
    ids = [_ids(draw, length, length) for length in lengths]
    return _asked(draw, *zip(ids[::2], ids[1::2], strict=True), sizes=sizes, **options)


def _asked(
    draw: Draw, *calls: Sequence[torch.Tensor], sizes: Sequence[int] = SIZES, **options: Any
) -> CollectMaps:
    return CollectMaps(sizes, weights.transformer(draw, sizes), calls, **options)


exercise = ExerciseChecks(reference=reference.attention_maps, judge=matches_reference(_first_wrong_map),
    examples=[
        example(lambda _: through("attention_maps", torch.tensor([[5, 4, 6]]), torch.tensor([[1, 7]])),
                "heat", shown="attention_maps(model, src, tgt)"),
        example(lambda _: through("attention_maps", torch.tensor([[5, 4, 0]]), torch.tensor([[1, 0]])),
                "heat", shown="attention_maps(model, src, tgt)"),
    ], checks=[
    Check("three-maps", "three maps, of all layers and heads, for seven source and five target tokens",
          lambda d: _maps(d, 7, 5), weight=2),
    Check("padding", "the masks are those that the model uses: padding gets no weight",
          lambda d: _asked(d, [_ids(d, 7, 4), _ids(d, 6, 5)])),
    Check("other-padding", "the model's own pad_id",
          lambda d: _asked(d, [_ids(d, 6, 4, 5), _ids(d, 5, 4, 5)], options={"pad_id": 5}), weight=0.5),
    Check("equal-lengths", "source and target of the same length", lambda d: _maps(d, 6, 6), weight=0.5),
    Check("fresh", "each call returns the weights of its own input", lambda d: _maps(d, 7, 5, 7, 5)),
    Check("three-layers", "a model of three layers with two heads",
          lambda d: _maps(d, 4, 6, sizes=(13, 17, 6, 2, 3, 10)), weight=0.5),
    Check("one-layer", "a model of one layer with one head",
          lambda d: _maps(d, 5, 3, sizes=(13, 17, 6, 1, 1, 10)), weight=0.5),
    Check("passed-in", "a model whose encoder and decoder were passed in",
          lambda d: _asked(d, [_ids(d, 7, 6), _ids(d, 5, 5)], passed=True), weight=0.5),
    Check("double", "a model in float64, with the ids left unchanged",
          lambda d: _maps(d, 5, 4, double=True), no_side_effects(names=["src", "tgt"]), weight=0.5),
    Check("from-train-mode", "dropout is off, even if the model arrives in train mode",
          lambda d: _asked(d, [_ids(d, 7, 6), _ids(d, 5, 5)], train=True, options={"dropout": 0.6})),
    Check("leaves-train-mode", "a model in train mode stays in train mode, without hooks",
          lambda d: _maps(d, 4, 3, train=True, facts=True), explain.facts(FACTS)),
    Check("interrupted", "if the model raises an exception, it stays in its mode and keeps no hooks as well",
          lambda d: _maps(d, 4, 3, train=True, facts=True, interrupted=True), explain.facts(FACTS), 0.5),
    Check("leaves-eval-mode", "a model in eval mode stays in eval mode, without hooks",
          lambda d: _maps(d, 4, 3, facts=True), explain.facts(FACTS)),
    Check("padding-first", "padding may come before the tokens of the source",
          lambda d: _asked(d, [_ids(d, 7, 4).flip(1), _ids(d, 5, 5)]), weight=0.5),
    *properties(lambda d: _maps(d, 5, 4),
                sizes=lambda d: [_maps(d, 1, 1, sizes=(13, 17, 2, 1, 1, 1)),
                                 _maps(d, 50, 40, sizes=(13, 17, 48, 8, 2, 90))]),
])
