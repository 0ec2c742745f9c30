from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch

from autograder.judge import dropout, masks, modules, weights
from autograder.judge.table import (
    FINISHED_ATTENTION, CallModule, Check, Draw, ExerciseChecks, Operation, ReadState, are_probabilities,
    arguments, defaults, example, gradients_match, matches_reference, module, module_learns_too,
    positions_change, properties, unregistered,
)
from coursework import stand_ins_models

V, D, HEADS, D_FF, MAX_LEN = 13, 8, 2, 10, 20
TWO_LAYERS = (V, D, 2, HEADS, D_FF, MAX_LEN)
NO_TOKENS = {"embedding.embed.weight": torch.zeros(V, D), "position.pe": torch.zeros(MAX_LEN, D)}
NAMES = ("ids", "memory", "self_mask", "memory_mask")


def _ids(draw: Draw, *lengths: int) -> torch.Tensor:
    """Return ids (B, T) of targets of these lengths, which begin with <sos>."""
    ids = masks.padded_ids(draw, V, lengths)
    ids[:, 0] = 1
    return ids


def _decoder(draw: Draw, layers: int, *calls: Sequence[Any]) -> CallModule:
    init = [V, D, layers, HEADS, D_FF, MAX_LEN]
    return module([*init, 0.0], weights.decoder(draw, init), *calls)


def _masked(draw: Draw, target: list[int], source: list[int]) -> Operation:
    memory = draw.normal(len(source), max(source), D)
    return _decoder(draw, 2, [_ids(draw, *target), memory, masks.target(target), masks.padding(source)])


def _calls(draw: Draw) -> Operation:
    memory, ids = draw.normal(2, 3, D), _ids(draw, 6, 6)
    masked = [ids, memory, masks.causal(6), masks.padding([3, 2])]
    return _decoder(draw, 2, [_ids(draw, 1, 1), memory], masked, [ids, memory])


def _causal(draw: Draw) -> CallModule:
    return _decoder(draw, 2, [_ids(draw, 5, 5), draw.normal(2, 5, D), masks.causal(5)])


def _changed_padding(draw: Draw) -> Operation:
    call = [_ids(draw, 4, 4), draw.normal(2, 6, D), masks.causal(4), masks.padding([3, 3], 6)]
    changed = draw.normal(2, 3, D, scale=3)
    return modules.changed_positions(_decoder(draw, 2, call), 1, masks.at(slice(3, 6)), changed)


def _registered(draw: Draw) -> Operation:
    asked = _decoder(draw, 2)
    return modules.asked_as(ReadState, asked, paths=list(asked.weights), facts=["registered"])


def _dropout(draw: Draw, rate: float, *silent: str, **fields: Any) -> dropout.DropoutFact:
    """Ask for a fact about two layers; weights at paths that hold one of `silent` are zero.

    Those of the values always are: dropout on attention weights cannot show then.
    """
    loaded = weights.zeroed(weights.decoder(draw, TWO_LAYERS), "w_v.", *silent)
    loaded["project.bias"][0] = -9.0  # never the best word: ids, returned for logits, are not all 0
    call = [_ids(draw, 6, 6, 6, 6), draw.normal(4, 3, D)]
    return dropout.DropoutFact([*TWO_LAYERS, rate], loaded, [call], **fields)


def _drops_layers(draw: Draw) -> Operation:
    asked = _dropout(draw, dropout.NEARLY_ALL, fact="drops parts")
    silence = weights.last_layers({**asked.weights})
    return replace(asked, weights={**asked.weights, **NO_TOKENS}, silence=silence)


def _sized(draw: Draw, init: list[Any], *call: torch.Tensor) -> CallModule:
    return module(init, weights.decoder(draw, init), call)


def _sizes(draw: Draw) -> Sequence[Operation]:
    large = [draw.integers(1, 99, 12, 40), draw.normal(12, 50, 48), masks.causal(40)]
    return [_sized(draw, [2, 2, 1, 1, 1], draw.integers(1, 2, 1, 1), draw.normal(1, 1, 2)),
            _sized(draw, [99, 48, 2, 8, 90], *large)]


def _defaults(draw: Draw) -> Sequence[Operation]:
    """Return texts of an ordinary length, as long as the default table, and one token longer."""
    texts = (draw.integers(1, 9, 1, length) for length in (4, 512, 513))
    return [replace(_sized(draw, [9, 4, 1, 1, 2], ids, draw.normal(1, 3, 4)), train=True) for ids in texts]


exercise = ExerciseChecks(reference=stand_ins_models.Decoder, judge=matches_reference(are_probabilities),
    excludes=FINISHED_ATTENTION,
    examples=[
        example(lambda d: _sized(d, [6, 4, 1, 2, 6, 8], torch.tensor([[1, 5, 4]]), d.normal(1, 2, 4))),
        example(lambda d: _sized(d, [6, 4, 2, 2, 6, 8], torch.tensor([[1, 5], [1, 4]]), d.normal(2,
                3, 4), masks.causal(2), masks.padding([1, 3]))),
    ], checks=[
    Check("one-layer", "one layer, without masks",
          lambda d: _decoder(d, 1, [_ids(d, 4, 4), d.normal(2, 6, D)])),
    module_learns_too((2, 5, V), Check("three-layers", "three layers, each with its own weights",
          lambda d: _decoder(d, 3, [_ids(d, 5, 5), d.normal(2, 7, D)]), weight=1.5), NAMES),
    module_learns_too((3, 5, V),
    Check("masked", "both masks reach both layers; three samples, each with its own padding",
          lambda d: _masked(d, [5, 2, 4], [3, 7, 6]), weight=1.5), NAMES),
    Check("equal-sizes", "target, source and batch of the same size: each mask goes to the right attention",
          lambda d: _masked(d, [4, 2, 3, 4], [2, 4, 1, 3])),
    Check("calls", "calls are independent: a single token, then a longer sentence, with masks and without",
          _calls, weight=0.5),
    Check("target-token-moves",
          "changing one target token changes its logits and those after it, and none before it",
          lambda d: modules.changed_word(_causal(d), 0, 2, V),
          positions_change("target token 2 changes", what="row of logits")),
    Check("source-token-moves", "changing the last source token changes the logits at every position",
          lambda d: modules.changed_positions(_causal(d), 1, masks.at(4), d.normal(2, D, scale=3)),
          positions_change("the last source token changes", what="row of logits")),
    Check("source-padding-moves-nothing", "changing the padding of the source changes nothing",
          _changed_padding, positions_change("the padding of the source changes", what="row of logits"), 0.5),
    Check("long-sentence", "sentences of more than 512 tokens, if max_len allows them",
          lambda d: _sized(d, [7, 8, 1, 1, 5, 520, 0.0], d.integers(1, 7, 1, 515), d.normal(1, 2, 8)),
          matches_reference(are_probabilities, atol=1e-2, rtol=1e-2), 0.5),
    Check("parts-registered", "PyTorch finds every parameter",
          _registered, matches_reference(unregistered), 0.5),
    arguments(lambda d: _decoder(
        d, 2, [_ids(d, 3, 3), d.normal(2, 4, D), masks.causal(3), masks.padding([4, 2])]),
              are_probabilities, names=NAMES),
    Check("learns", "gradients reach every parameter and the memory", lambda d: modules.gradients(
              _decoder(d, 2, [_ids(d, 4, 4), d.normal(2, 6, D), masks.causal(4)]), d.normal(2, 4, V),
              of_arguments=True, one_output=True), gradients_match(NAMES), 0.5),
    Check("eval-repeats", "in eval mode, nothing is dropped",
          lambda d: _dropout(d, 0.8, fact="repeats"), dropout.holds, 0.5),
    Check("positions-drop", "the decoder's dropout reaches the positions",
          lambda d: _dropout(d, dropout.NEARLY_ALL, ".w_o.", ".linear2.",
                             fact="drops parts", silence=list(NO_TOKENS)), dropout.holds, 0.25),
    Check("layers-drop", "the decoder's dropout reaches every layer", _drops_layers, dropout.holds, 0.25),
    Check("nothing-to-drop", "with dropout 0, nothing is dropped in train mode",
          lambda d: _dropout(d, 0.0, fact="drops nothing"), dropout.holds, 0.5),
    *properties(lambda d: _decoder(
                    d, 2, [_ids(d, 3, 3), d.normal(2, 4, D), masks.causal(3), masks.padding([4, 2])]),
                sizes=_sizes),
    defaults(_defaults, max_len=(512, 600), dropout=(0.1, 0.5)),
])
