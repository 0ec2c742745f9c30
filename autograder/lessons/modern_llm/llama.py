from collections.abc import Sequence
from dataclasses import replace

import torch

from autograder.judge import masks, modules
from autograder.judge.table import (
    FINISHED_ATTENTION, Check, Comparison, Draw, ExerciseChecks, ReadState, are_probabilities, arguments,
    defaults, example, gradients_match, matches_reference, module_learns_too, positions_change, properties,
    times,
)
from autograder.lessons.modern_llm import drawn, reference
from coursework.engine.modern_parts import InPieces

WORDS = 17
INIT = (WORDS, 24, 2, 6, 2, 20)  # vocabulary, width, layers, query heads, key heads, feed-forward width
NAMES = ("ids", "past")


def _ids(d: Draw, init: drawn.Init, *shape: int) -> torch.Tensor:
    return d.integers(0, int(init[0]), *shape)


def _model(
    d: Draw, *shapes: Sequence[int], init: drawn.Init = INIT, silent: Sequence[str] = (),
    wanted: str = "output", base: float = drawn.BASE, eps: float = drawn.EPS,
) -> InPieces:
    """Call once for each shape (B, T), each time without a past; `silent` sublayers put out zeros."""
    calls = [[_ids(d, init, *shape)] for shape in shapes]
    weights = drawn.silenced(drawn.model(d, init), *silent)
    return drawn.pieces(init, weights, *calls, wanted=wanted, base=base, eps=eps)


def _small_vectors(d: Draw, eps: float = drawn.EPS) -> InPieces:
    """Call a model whose vectors are so small that eps matters in every norm."""
    asked = _model(d, (2, 5), eps=eps)
    table = 0.3 * asked.weights["embedding.weight"]
    return replace(asked, weights={**asked.weights, "embedding.weight": table})


def _cut(
    d: Draw, *lengths: int, batch: int = 2, init: drawn.Init = INIT, wanted: str = "output"
) -> InPieces:
    """Call with a text piece by piece, each with what the call before returned."""
    calls = drawn.cut(_ids(d, init, batch, sum(lengths)), *lengths)
    return drawn.pieces(init, drawn.model(d, init), *calls, wanted=wanted, eps=drawn.EPS)


def _changed_token(d: Draw) -> drawn.ChangedOutputs:
    asked = _model(d, (3, 6))
    other = (asked.calls[0][0][:, 2] + 1 + d.integers(0, WORDS - 1, 3)) % WORDS
    return drawn.changed(asked, masks.at(2), other)


def _changed_sample(d: Draw) -> drawn.ChangedOutputs:
    asked = _model(d, (3, 6))
    return drawn.changed(asked, (1,), (asked.calls[0][0][1] + 1) % WORDS)


def _with_token_zero(d: Draw) -> InPieces:
    """Call with texts that contain token 0, which has a row of the table like any other."""
    asked = _model(d, (2, 5))
    asked.calls[0][0][:, 1] = 0
    return asked


def _scaled(seen: Comparison) -> str | None:
    """Say by how much the logits are too large, where no sublayer does anything."""
    got, want = seen.got.value, seen.expected.value
    ratio = (got * want).sum() / (want * want).sum()
    if torch.allclose(got, ratio * want, atol=1e-3, rtol=1e-3):
        return f"Every logit is {times(ratio.item(), 1.0)}. Neither the embedding nor the logits are scaled."
    return "Without sublayers, the logits are norm(embedding) times the transposed table. Yours are not."


exercise = ExerciseChecks(reference=reference.Llama, excludes=FINISHED_ATTENTION,
    judge=matches_reference(are_probabilities),
    examples=[
        example(lambda d: drawn.as_example(_model(d, (1, 2), init=(5, 4, 1, 2, 1, 3), wanted="both"))),
        example(lambda d: drawn.as_example(_model(d, (1, 3), init=(4, 8, 2, 2, 1, 3), base=2.0, eps=0.5))),
        example(lambda d: drawn.as_example(
                    replace(_cut(d, 2, 2, batch=1, init=(5, 4, 2, 2, 1, 3), wanted="both"), train=True)),
                shown="Llama(5, 4, 2, 2, 1, 3).train()(ids), and then (ids, past)"),
    ], checks=[
    Check("ends", "without sublayers: the table, the final norm, and the table again",
          lambda d: _model(d, (2, 5), silent=["attention", "feed_forward"]), matches_reference(_scaled)),
    Check("one-layer", "one layer", lambda d: _model(d, (2, 4), init=(WORDS, 24, 1, 6, 2, 20)), weight=0.5),
    module_learns_too((3, 5, WORDS),
    Check("logits", "three layers, each with its own weights, three texts of five tokens",
          lambda d: _model(d, (3, 5), init=(WORDS, 24, 3, 6, 2, 20)), weight=2)),
    Check("keys-and-values", "one pair of keys and values for each layer, in order",
          lambda d: _model(d, (3, 5), wanted="past")),
    Check("past", "each layer gets its own past, and returns it with the new positions",
          lambda d: drawn.after(_cut(d, 4, 3, 5, batch=3, init=(WORDS, 24, 3, 6, 2, 20), wanted="both")),
          weight=1.5),
    Check("pieces", "a text in pieces, some of them single tokens, gives the right logits",
          lambda d: _cut(d, 3, 1, 1, 2)),
    Check("calls", "calls without a past are independent of each other",
          lambda d: _model(d, (2, 1), (2, 6), (3, 4)), weight=0.5),
    Check("other-base", "every layer gets the given base", lambda d: _model(d, (2, 6), base=50.0)),
    Check("large-eps", "every norm gets the given eps", lambda d: _small_vectors(d, eps=0.5)),
    module_learns_too((3, 4, 7),
    Check("other-sizes", "other numbers of heads, and a vocabulary smaller than the width",
          lambda d: _model(d, (3, 4), init=(7, 20, 2, 5, 1, 9)), weight=0.5)),
    Check("token-moves", "changing one token changes its logits and those after it, and none before it",
          _changed_token, positions_change("token 2 changes", what="row of logits"), 0.5),
    Check("samples-stay-apart", "changing one text changes the logits of that text alone",
          _changed_sample, positions_change("all tokens of text 1 change", what="row of logits"), 0.5),
    Check("parameters", "the table is counted once, and an optimiser finds every part",
          lambda d: ReadState([*INIT], paths=list(drawn.model(d, INIT)), facts=["registered"], total=True),
          matches_reference(drawn.too_many)),
    Check("learns", "gradients reach every parameter, the table from both of its ends",
          lambda d: modules.gradients(_with_token_zero(d), d.normal(2, 5, WORDS)),
          gradients_match(), weight=0.5),
    Check("train-mode", "train mode makes no difference",
          lambda d: replace(_model(d, (2, 5)), train=True), weight=0.5),
    Check("past-kept", "`past`, and the list itself, are left as they were",
          lambda d: drawn.two_ways_on(_cut(d, 4, 2, 3)), drawn.KEPT),
    arguments(lambda d: _model(d, (2, 4)), are_probabilities, names=NAMES),
    *properties(lambda d: _model(d, (2, 5), wanted="both"),
                sizes=lambda d: [_model(d, (1, 1), init=(1, 2, 1, 1, 1, 1)),
                                 _model(d, (1, 40), init=(70, 8, 1, 2, 1, 9)),
                                 _cut(d, 30, 12, batch=5, init=(60, 32, 2, 8, 2, 70))]),
    defaults(lambda d: [drawn.with_defaults(_small_vectors(d))], base=(10000.0, 50.0), eps=(1e-5, 1e-3)),
])
