from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F

from autograder.judge import dropout, explain, masks, modules, weights
from autograder.judge.table import (
    FINISHED_ATTENTION, CallModule, Check, Comparison, Draw, ExerciseChecks, Operation, arguments, defaults,
    example, gradients_match, matches_reference, module, module_learns_too, properties,
)
from coursework import stand_ins_models

SIZES = (13, 8, 2, 2, 12)  # vocab_size, d_model, num_layers, num_heads, d_ff


def _encoder(
    d: Draw, *calls: Sequence[Any], sizes: Sequence[int] = SIZES, train: bool = False, **options: float
) -> CallModule:
    return module(sizes, weights.encoder(d, sizes), *calls, train=train, **options)


def _order_is_lost(seen: Comparison) -> str | None:
    forwards, backwards = explain.outputs(seen)
    if not explain.near(forwards, backwards.flip(1)):
        return None
    return "Reversing the tokens only reverses the vectors. Are the positions added?"


def _ids(d: Draw, *shape: int) -> torch.Tensor:
    return d.integers(4, SIZES[0], *shape)


def _padded(d: Draw, *lengths: int) -> list[torch.Tensor]:
    return [masks.padded_ids(d, SIZES[0], lengths), masks.padding(lengths)]


def _reversed(d: Draw) -> Operation:
    ids = torch.tensor([d.different(5, 4, SIZES[0])])
    return _encoder(d, [ids], [ids.flip(1)])


def _more_padding(d: Draw) -> Operation:
    ids, mask = masks.padded_ids(d, SIZES[0], [4, 6], longest=7), masks.padding([4, 6], longest=7)
    return _encoder(d, [ids, mask], [ids[:1, :4], mask[:1, :, :4]])


def _padding_added(d: Draw) -> Operation:
    ids = _ids(d, 2, 4)
    calls = [[ids, masks.padding([4, 4])], [F.pad(ids, (0, 3)), masks.padding([4, 4], longest=7)]]
    return modules.ChangedPositions(SIZES, weights.encoder(d, SIZES), calls, order=list(range(4)))


def _drops_all(d: Draw) -> Operation:
    """Compare with what the answer itself returns if its tokens, positions and sublayers are all zero."""
    asked = _encoder(d, [_ids(d, 2, 5)], dropout=dropout.NEARLY_ALL)
    silence = ["embedding.embed.weight", "position.pe", *weights.last_layers({**asked.weights})]
    return modules.asked_as(dropout.DropoutFact, asked, fact="drops parts", silence=silence)


exercise = ExerciseChecks(reference=stand_ins_models.Encoder, excludes=FINISHED_ATTENTION,
    examples=[
        example(lambda d: _encoder(d, [torch.tensor([[5, 4, 0]])], sizes=(7, 6, 1, 2, 5))),
        example(lambda d: _encoder(d, [torch.tensor([[5, 6, 0], [4, 5, 6]]), masks.padding([2, 3])],
                sizes=(7, 6, 2, 2, 5))),
        example(lambda d: _encoder(d, [torch.tensor([[5, 4, 6]]), masks.causal(3)], sizes=(7, 6, 1, 2, 5))),
        example(lambda d: _encoder(d, [torch.tensor([[4, 5]])], sizes=(6, 4, 1, 1, 3),
                                   train=True, dropout=dropout.NEARLY_ALL)),
    ], checks=[
    module_learns_too((3, 5, 8), Check("formula", "embedding, positions, then one layer after the other",
          lambda d: _encoder(d, [_ids(d, 3, 5)]), weight=2)),
    Check("alone", "a sample gives the same result alone and in a batch",
          lambda d: modules.alone_twice(_encoder(d, [_ids(d, 3, 4)])),
          matches_reference(explain.samples_mix)),
    Check("order", "the same tokens in another order give a different result: positions matter", _reversed,
          matches_reference(_order_is_lost)),
    module_learns_too((3, 6, 8),
    Check("lengths", "three sentences of different lengths, with their padding mask",
          lambda d: _encoder(d, _padded(d, 6, 2, 4)), weight=2)),
    Check("padded", "padding after a sentence does not change the outputs of its tokens", _more_padding),
    Check("square-mask", "a mask of shape (S, S)",
          lambda d: _encoder(d, [_ids(d, 2, 5), d.mask(5, 5)]), weight=0.5),
    Check("no-mask", "None means no mask, even if there is padding, and whatever the mask before",
          lambda d: _encoder(d, _padded(d, 5, 3), _padded(d, 3, 5)[:1])),
    Check("flip", "changing one token changes every output",
          lambda d: modules.changed_word(_encoder(d, [_ids(d, 2, 5)]), 0, 4, SIZES[0]),
          explain.positions_change("token 4 changes"), 0.5),
    Check("deaf-to-padding", "changing the padding changes no output of a real token", _padding_added,
          explain.positions_change("padding is added after the tokens"), 0.5),
    module_learns_too((2, 4, 6), Check("three-layers", "three layers, all different",
          lambda d: _encoder(d, [d.integers(4, 9, 2, 4)], sizes=(9, 6, 3, 1, 7)))),
    Check("one-layer", "a single layer and a single token",
          lambda d: _encoder(d, [d.integers(4, 9, 2, 1)], [d.integers(4, 9, 2, 3)], sizes=(9, 6, 1, 3, 7)),
          weight=0.5),
    Check("too-long", "a sentence longer than max_len raises a ValueError",
          lambda d: _encoder(d, [_ids(d, 2, 6)], max_len=5), weight=0.5, raises="ValueError"),
    Check("very-long", "max_len may be more than 512",
          lambda d: _encoder(d, [_ids(d, 1, 514)], sizes=(13, 8, 1, 1, 4), max_len=514), weight=0.5),
    Check("dropout-off", "in eval mode, nothing is dropped",
          lambda d: _encoder(d, [_ids(d, 2, 5)], dropout=dropout.NEARLY_ALL), dropout.nothing_dropped, 0.5),
    Check("dropout-none", "with dropout 0, nothing is dropped in train mode",
          lambda d: _encoder(d, [_ids(d, 3, 7)], train=True, dropout=0.0), dropout.nothing_dropped, 0.5),
    Check("dropout-on", "in train mode, dropout applies to the embedded tokens and in every layer",
          _drops_all, explain.facts({
              "left": "With dropout near 1 in train mode, something is left of the tokens, or of what the "
                      "sublayers return. Do `position` and all layers get `dropout`?"}), 0.5),
    Check("learns", "an optimiser finds every parameter, and gradients reach it", lambda d: modules.gradients(
              _encoder(d, [_ids(d, 2, 5)], dropout=0.0), d.normal(2, 5, 8), registration=True),
          gradients_match()),
    arguments(lambda d: _encoder(d, _padded(d, 5, 3)), names=["ids", "mask"], weight=1),
    Check("padding-first", "padding may come before the tokens",
          lambda d: _encoder(d, [each.flip(-1) for each in _padded(d, 6, 3)]), weight=0.5),
    *properties(lambda d: _encoder(d, _padded(d, 5, 3)),
                sizes=lambda d: [_encoder(d, [d.integers(1, 2, 1, 1)], sizes=(2, 2, 1, 1, 1)),
                                 _encoder(d, [d.integers(4, 99, 12, 50)], sizes=(99, 48, 2, 8, 90))]),
    defaults(lambda d: [_encoder(d, [_ids(d, 1, length)], sizes=(13, 4, 1, 1, 2), train=True)
                        for length in (4, 512, 513)], max_len=(512, 600), dropout=(0.1, 0.5)),
])
