from collections.abc import Sequence
from dataclasses import replace

from autograder.judge import masks, modules
from autograder.judge.table import (
    FINISHED_ATTENTION, Check, Draw, ExerciseChecks, ReadState, arguments, defaults, example,
    gradients_match, matches_reference, module_learns_too, positions_change, properties,
)
from autograder.lessons.modern_llm import drawn, reference
from coursework.engine.modern_parts import InPieces

D = 24
INIT = (D, 6, 2, 20)
NAMES = ("x", "past")


def _layer(
    d: Draw, *shapes: Sequence[int], init: drawn.Init = INIT, silent: Sequence[str] = (),
    wanted: str = "output", scale: float = 2.0, base: float = drawn.BASE, eps: float = drawn.EPS,
) -> InPieces:
    """Call once for each shape (B, T), each time without a past; `silent` sublayers put out zeros."""
    calls = [[d.normal(*shape, int(init[0]), scale=scale)] for shape in shapes]
    weights = drawn.silenced(drawn.layer(d, init), *silent)
    return drawn.pieces(init, weights, *calls, wanted=wanted, base=base, eps=eps)


def _cut(
    d: Draw, *lengths: int, batch: int = 2, init: drawn.Init = INIT, wanted: str = "output"
) -> InPieces:
    """Call with a text piece by piece, each with what the call before returned."""
    x = d.normal(batch, sum(lengths), int(init[0]), scale=2.0)
    calls = drawn.cut(x, *lengths)
    return drawn.pieces(init, drawn.layer(d, init), *calls, wanted=wanted, eps=drawn.EPS)


exercise = ExerciseChecks(reference=reference.LlamaLayer, excludes=FINISHED_ATTENTION,
    examples=[
        example(lambda d: drawn.as_example(_layer(d, (1, 2), init=(4, 2, 1, 6), wanted="both"))),
        example(lambda d: drawn.as_example(_layer(d, (1, 3), init=(8, 2, 1, 3), base=2.0, eps=0.5))),
        example(lambda d: drawn.as_example(
                    replace(_cut(d, 2, 1, batch=1, init=(4, 2, 1, 6), wanted="both"), train=True)),
                shown="LlamaLayer(4, 2, 1, 6).train()(x), and then (x, past)"),
    ], checks=[
    Check("main-path", "if both sublayers return zeros, x passes through unchanged",
          lambda d: _layer(d, (2, 4), silent=["attention", "feed_forward"])),
    module_learns_too((2, 5, D),
    Check("attention-alone", "the attention, while the feed-forward network returns zeros",
          lambda d: _layer(d, (2, 5), silent=["feed_forward"])), ["x"]),
    Check("feed-forward-alone", "the feed-forward network, while the attention returns zeros",
          lambda d: _layer(d, (2, 5), silent=["attention"])),
    module_learns_too((3, 5, D), Check("whole-layer", "both sublayers, for three samples of five positions",
          lambda d: _layer(d, (3, 5)), weight=2), ["x"]),
    Check("keys-and-values", "the attention's keys and values are returned as they are",
          lambda d: _layer(d, (3, 5), wanted="past")),
    Check("past", "the attention gets the past, and returns it with the new positions",
          lambda d: drawn.after(_cut(d, 4, 3, 5, batch=3, wanted="both")), weight=1.5),
    Check("pieces", "a text in pieces, some of them single positions, gives the right outputs",
          lambda d: _cut(d, 3, 1, 1, 2)),
    Check("other-base", "the attention gets the given base", lambda d: _layer(d, (2, 6), base=50.0)),
    Check("large-eps", "both norms get the given eps",
          lambda d: _layer(d, (2, 5), scale=0.5, eps=0.5)),
    Check("other-sizes", "other numbers of heads, and a narrow feed-forward network",
          lambda d: _layer(d, (3, 4), init=(20, 5, 1, 7)), weight=0.5),
    Check("token-moves", "changing one position changes its output and those after it, and none before it",
          lambda d: drawn.changed(_layer(d, (3, 6)), masks.at(2), d.normal(3, D, scale=3)),
          positions_change("position 2 changes"), 0.5),
    Check("samples-stay-apart", "changing one sample changes the outputs of that sample alone",
          lambda d: drawn.changed(_layer(d, (3, 6)), (1,), d.normal(6, D, scale=3)),
          positions_change("all positions of sample 1 change"), 0.5),
    Check("parameters", "the two norms and two sublayers are all the parameters, and an optimiser finds them",
          lambda d: ReadState([*INIT], paths=list(drawn.layer(d, INIT)), facts=["registered"], total=True),
          matches_reference(drawn.too_many)),
    Check("learns", "gradients reach every parameter and x",
          lambda d: modules.gradients(_layer(d, (2, 5)), d.normal(2, 5, D), of_arguments=True),
          gradients_match(["x"]), weight=0.5),
    Check("train-mode", "train mode makes no difference",
          lambda d: replace(_layer(d, (2, 5)), train=True), weight=0.5),
    Check("past-kept", "`past` is left as it was, so that two texts may go on from it",
          lambda d: drawn.two_ways_on(_cut(d, 4, 2, 3)), drawn.KEPT, weight=0.5),
    arguments(lambda d: _layer(d, (2, 4)), names=NAMES),
    *properties(lambda d: _layer(d, (2, 5), wanted="both"),
                sizes=lambda d: [_layer(d, (1, 1), init=(2, 1, 1, 1)),
                                 _cut(d, 30, 20, batch=12, init=(64, 8, 2, 90))]),
    defaults(lambda d: [drawn.with_defaults(_layer(d, (2, 6), scale=0.01))],
             base=(10000.0, 50.0), eps=(1e-5, 1e-3)),
])
