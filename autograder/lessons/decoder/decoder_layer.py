from dataclasses import replace
from functools import partial

import torch

from autograder.judge import masks, modules
from autograder.judge.table import (
    FINISHED_ATTENTION, NEARLY_ALL, Check, Draw, ExerciseChecks, arguments, defaults, ends_in_norm, example,
    gradients_match, matches_reference, module_learns_too, positions_change, properties,
)
from autograder.lessons.decoder.layers import D_FF, D, dropout_checks, layer_call
from coursework import stand_ins_models

NAMES = ("x", "memory", "self_mask", "memory_mask")
LAST = ends_in_norm("norm3")

_layer = partial(layer_call, cross=True)


def _batch(draw: Draw, batch: int, target: int, source: int, width: int = D) -> list[torch.Tensor]:
    """Return x (B, T, width) and a memory (B, S, width)."""
    return [draw.normal(batch, target, width), draw.normal(batch, source, width)]


exercise = ExerciseChecks(reference=stand_ins_models.DecoderLayer, judge=matches_reference(LAST),
    excludes=FINISHED_ATTENTION,
    examples=[
        example(lambda d: _layer(d, _batch(d, 1, 2, 3, 4), init=[4, 2, 6, 0.0])),
        example(lambda d: _layer(d, [*_batch(d, 2, 3, 2, 4), masks.causal(3), masks.padding([1,
                2])], init=[4, 2, 5, 0.0])),
        example(lambda d: _layer(d, [*_batch(d, 2, 2, 2, 2), masks.causal(2), masks.padding([2,
                1])], init=[2, 1, 3, 0.0])),
        example(lambda d: replace(_layer(d, _batch(d, 1, 2, 2, 2), init=[2, 1, 3, NEARLY_ALL]), train=True)),
    ], checks=[
    Check("self-attention-alone",
          "the self-attention, while the other sublayers return zeros: tokens attend to those before them",
          lambda d: _layer(d, [*_batch(d, 2, 5, 7), masks.causal(5)],
                           silent=["cross_attention", "feed_forward"])),
    Check("cross-attention-alone",
          "the cross-attention, while the other sublayers return zeros: target tokens attend to the source",
          lambda d: _layer(d, [*_batch(d, 2, 5, 7), None, masks.padding([7, 4])],
                           silent=["self_attention", "feed_forward"])),
    Check("feed-forward-alone", "the feed-forward network, while the other sublayers return zeros",
          lambda d: _layer(d, _batch(d, 2, 4, 6), silent=["self_attention", "cross_attention"])),
    module_learns_too((2, 5, D),
    Check("plain", "five target tokens attend to seven source tokens, without masks",
          lambda d: _layer(d, _batch(d, 2, 5, 7)), weight=1.5), NAMES),
    module_learns_too((3, 5, D),
    Check("masked", "three samples, each with its own padding in target and source",
          lambda d: _layer(d, [*_batch(d, 3, 5, 7), masks.target([5, 2, 4]), masks.padding([3, 7, 6])]),
          weight=1.5), NAMES),
    Check("equal-sizes",
          "target, source, batch and heads all of the same size: each mask goes to the right attention",
          lambda d: _layer(d, [*_batch(d, 4, 4, 4), masks.target([4, 2, 3, 4]), masks.padding([2, 4, 4, 3])],
              init=[D, 4, D_FF, 0.0])),
    Check("one-mask", "either mask may be left out, or both",
          lambda d: _layer(d, [*_batch(d, 2, 4, 6), masks.target([4, 3])],
                           [*_batch(d, 2, 4, 6), None, masks.padding([6, 2])], _batch(d, 2, 4, 6)),
          weight=0.5),
    Check("single-tokens", "one target token, then one source token, built without the argument dropout",
          lambda d: _layer(d, _batch(d, 2, 1, 6), [*_batch(d, 3, 4, 1), masks.causal(4)], init=[D, 2, 9]),
          weight=0.5),
    Check("target-token-moves",
          "changing one target token changes its output and those after it, and none before it",
          lambda d: modules.changed_positions(
              _layer(d, [*_batch(d, 2, 5, 5), masks.causal(5)]), 0, masks.at(2), d.normal(2, D, scale=2)),
          positions_change("target token 2 changes")),
    Check("source-token-moves", "changing the last source token changes every output",
          lambda d: modules.changed_positions(
              _layer(d, [*_batch(d, 2, 5, 5), masks.causal(5)]), 1, masks.at(4), d.normal(2, D, scale=2)),
          positions_change("the last source token changes")),
    Check("source-padding-moves-nothing", "changing the padding of the source changes nothing",
          lambda d: modules.changed_positions(
              _layer(d, [*_batch(d, 2, 4, 6), masks.causal(4), masks.padding([3, 3], 6)]),
              1, masks.at(slice(3, 6)), d.normal(2, 3, D, scale=2)),
          positions_change("the padding of the source changes"), 0.5),
    Check("samples-stay-apart", "changing one sample changes the outputs of that sample alone",
          lambda d: modules.changed_positions(_layer(d, [*_batch(d, 3, 3, 3), masks.causal(3)]),
                                      1, (1,), d.normal(3, D, scale=2)),
          positions_change("all source tokens of sample 1 change"), 0.5),
    *dropout_checks(
        lambda d, init, batch, length: _layer(d, _batch(d, batch, length, 7, int(init[0])), init=init),
        "in train mode, dropout applies to the output of each sublayer, before the residual connection"),
    arguments(lambda d: _layer(d, [*_batch(d, 2, 3, 4), masks.target([3, 2]), masks.padding([1, 4])]),
              LAST, names=NAMES),
    Check("learns", "gradients reach every parameter, x and the memory",
          lambda d: modules.gradients(_layer(d, [*_batch(d, 2, 4, 6), masks.causal(4)]),
                                     d.normal(2, 4, D), of_arguments=True, one_output=True),
          gradients_match(NAMES), 0.5),
    *properties(lambda d: _layer(d, [*_batch(d, 2, 3, 4), masks.target([3, 2]), masks.padding([1, 4])]),
                sizes=lambda d: [_layer(d, _batch(d, 1, 1, 1, 2), init=[2, 1, 1]),
                                 _layer(d, [*_batch(d, 12, 40, 50, 48), masks.causal(40)],
                                        init=[48, 8, 90])]),
    defaults(lambda d: [replace(_layer(d, _batch(d, 2, 4, 3), init=[D, 2, 9]), train=True)],
             dropout=(0.1, 0.5)),
])
