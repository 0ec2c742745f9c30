"""Checks of `CausalDecoderLayer`."""

from collections.abc import Sequence
from dataclasses import replace

from autograder.judge import masks, modules
from autograder.judge.authoring import Check, Draw, ExerciseChecks
from autograder.judge.explain import positions_change
from autograder.judge.gradients import gradients_match
from autograder.judge.judges import no_side_effects
from autograder.judge.properties import defaults, properties
from autograder.lessons.decoder import reference
from autograder.lessons.decoder.layers import INIT, D, Init, dropout_checks, layer_call
from autograder.probe.modules import CallModule


def _layer(
    draw: Draw, *shapes: Sequence[int], init: Init = INIT, silent: Sequence[str] = (), scale: float = 1.0
) -> CallModule:
    """Call the layer once for each shape (B, T) of a batch; `silent` sublayers put out zeros."""
    calls = [[draw.normal(*shape, int(init[0]), scale=scale)] for shape in shapes]
    return layer_call(draw, *calls, init=init, silent=silent)


exercise = ExerciseChecks(reference=reference.CausalDecoderLayer, checks=[
    Check("main-path", "with both sub-layers silent, x passes through as it is",
          lambda d: _layer(d, (2, 4), silent=["self_attention", "feed_forward"])),
    Check("self-attention-alone", "the self-attention, with the feed-forward silent",
          lambda d: _layer(d, (2, 5), silent=["feed_forward"], scale=2)),
    Check("feed-forward-alone", "the feed-forward, with the self-attention silent",
          lambda d: _layer(d, (2, 5), silent=["self_attention"], scale=2)),
    Check("whole-block", "both sub-layers, five tokens, two samples",
          lambda d: _layer(d, (2, 5), scale=2), weight=2),
    Check("equal-sizes", "as many samples as tokens as heads", lambda d: _layer(d, (3, 3)), weight=0.5),
    Check("lengths", "seven tokens, then three, then one: each call makes the mask it needs",
          lambda d: _layer(d, (2, 7), (2, 3), (2, 1))),
    Check("other-heads", "another number of heads; built without the argument dropout",
          lambda d: _layer(d, (3, 4), init=[D, 6, 9]), weight=0.5),
    Check("token-moves", "a change of one token moves it and those after it, and none before it",
          lambda d: modules.changed_positions(_layer(d, (3, 6)), 0, masks.at(2), d.normal(3, D, scale=2)),
          positions_change("token 2 changes")),
    Check("samples-stay-apart", "a change in one sample moves that sample alone",
          lambda d: modules.changed_positions(_layer(d, (3, 6)), 0, (1,), d.normal(6, D, scale=2)),
          positions_change("all tokens of sample 1 change"), 0.5),
    *dropout_checks(lambda d, init, *sizes: _layer(d, sizes, init=init),
        "in train mode dropout acts on what each sub-layer puts out, before it is added"),
    Check("arguments", "it works in float64, and leaves x as it is",
          lambda d: modules.in_float64(_layer(d, (2, 4))), no_side_effects(names=["x"]), 0.5),
    Check("learns", "gradients reach every parameter and x",
          lambda d: modules.gradients(_layer(d, (2, 5)), d.normal(2, 5, D),
                                     of_arguments=True, one_output=True), gradients_match(("x",)), 0.5),
    *properties(lambda d: _layer(d, (2, 4)),
                sizes=lambda d: [_layer(d, (1, 1), init=[2, 1, 1]), _layer(d, (12, 50), init=[48, 8, 90])]),
    defaults(lambda d: [replace(_layer(d, (2, 4), init=[6, 2, 9]), train=True)], dropout=(0.1, 0.5)),
])
