from collections.abc import Sequence
from dataclasses import replace

from autograder.judge import masks, modules
from autograder.judge.table import (
    FINISHED_ATTENTION, NEARLY_ALL, CallModule, Check, Draw, ExerciseChecks, arguments, defaults, example,
    gradients_match, module_learns_too, positions_change, properties,
)
from autograder.lessons.decoder.layers import INIT, D, Init, dropout_checks, layer_call
from coursework import stand_ins_models


def _layer(
    draw: Draw, *shapes: Sequence[int], init: Init = INIT, silent: Sequence[str] = (), scale: float = 1.0
) -> CallModule:
    """Call the layer once for each shape (B, T) of a batch; `silent` sublayers put out zeros."""
    calls = [[draw.normal(*shape, int(init[0]), scale=scale)] for shape in shapes]
    return layer_call(draw, *calls, init=init, silent=silent)


exercise = ExerciseChecks(reference=stand_ins_models.CausalDecoderLayer, excludes=FINISHED_ATTENTION,
    examples=[
        example(lambda d: _layer(d, (1, 3), init=[4, 2, 6, 0.0])),
        example(lambda d: _layer(d, (2, 6), init=[2, 1, 3, 0.0], scale=2)),
        example(lambda d: replace(_layer(d, (1, 2), init=[2, 1, 3, NEARLY_ALL]), train=True)),
    ], checks=[
    Check("main-path", "if both sublayers return zeros, x passes through unchanged",
          lambda d: _layer(d, (2, 4), silent=["self_attention", "feed_forward"])),
    Check("self-attention-alone", "the self-attention, while the feed-forward network returns zeros",
          lambda d: _layer(d, (2, 5), silent=["feed_forward"], scale=2)),
    Check("feed-forward-alone", "the feed-forward network, while the self-attention returns zeros",
          lambda d: _layer(d, (2, 5), silent=["self_attention"], scale=2)),
    module_learns_too((2, 5, D), Check("whole-block", "both sublayers, five tokens, two samples",
          lambda d: _layer(d, (2, 5), scale=2), weight=2), ["x"]),
    Check("equal-sizes", "as many samples as tokens as heads", lambda d: _layer(d, (3, 3)), weight=0.5),
    module_learns_too((2, 7, D),
    Check("lengths", "seven tokens, then three, then one: each call makes its own mask",
          lambda d: _layer(d, (2, 7), (2, 3), (2, 1))), ["x"]),
    Check("other-heads", "another number of heads, built without the argument dropout",
          lambda d: _layer(d, (3, 4), init=[D, 6, 9]), weight=0.5),
    Check("token-moves", "changing one token changes its output and those after it, and none before it",
          lambda d: modules.changed_positions(_layer(d, (3, 6)), 0, masks.at(2), d.normal(3, D, scale=2)),
          positions_change("token 2 changes")),
    Check("samples-stay-apart", "changing one sample changes the outputs of that sample alone",
          lambda d: modules.changed_positions(_layer(d, (3, 6)), 0, (1,), d.normal(6, D, scale=2)),
          positions_change("all tokens of sample 1 change"), 0.5),
    *dropout_checks(lambda d, init, *sizes: _layer(d, sizes, init=init),
        "in train mode, dropout applies to the output of each sublayer, before it is added"),
    arguments(lambda d: _layer(d, (2, 4)), names=["x"]),
    Check("learns", "gradients reach every parameter and x",
          lambda d: modules.gradients(_layer(d, (2, 5)), d.normal(2, 5, D),
                                     of_arguments=True, one_output=True), gradients_match(("x",)), 0.5),
    *properties(lambda d: _layer(d, (2, 4)),
                sizes=lambda d: [_layer(d, (1, 1), init=[2, 1, 1]), _layer(d, (12, 50), init=[48, 8, 90])]),
    defaults(lambda d: [replace(_layer(d, (2, 4), init=[6, 2, 9]), train=True)], dropout=(0.1, 0.5)),
])
