from dataclasses import replace

import torch

from autograder.judge import masks, modules, weights
from autograder.judge.table import (
    FINISHED_ATTENTION, NEARLY_ALL, CallModule, Check, Draw, ExerciseChecks, ReadState, are_probabilities,
    arguments, defaults, example, gradients_match, matches_reference, module, module_learns_too,
    positions_change, properties, unregistered,
)
from autograder.lessons.transformer import reference

WORDS = 13
SIZES = [WORDS, 8, 2, 4, 12]  # vocabulary, d_model, layers, heads, d_ff


def _ids(draw: Draw, texts: int, length: int) -> torch.Tensor:
    return masks.padded_ids(draw, WORDS, [length] * texts)


def _model(
    draw: Draw, *shapes: tuple[int, int], init: list[int] = SIZES, train: bool = False, **options: float
) -> CallModule:
    drawn = weights.language_model(draw, init)
    return module(init, drawn, *([_ids(draw, *shape)] for shape in shapes), train=train, **options)


def _tiny(draw: Draw, ids: torch.Tensor, dropout: float = 0.1) -> CallModule:
    init = [7, 4, 2, 4, 6]
    return module(init, weights.language_model(draw, init), [ids], dropout=dropout)


exercise = ExerciseChecks(reference=reference.LanguageModel, judge=matches_reference(are_probabilities),
    excludes=FINISHED_ATTENTION,
    examples=[
        example(lambda d: _tiny(d, torch.tensor([[5, 4, 6]]))),
        example(lambda d: _tiny(d, torch.tensor([[5, 1], [3, 3]]))),
        example(lambda d: replace(_tiny(d, torch.tensor([[5, 1]]), dropout=NEARLY_ALL), train=True)),
    ], checks=[
    module_learns_too((3, 5, WORDS),
    Check("logits", "logits for three texts of five tokens", lambda d: _model(d, (3, 5)), weight=2)),
    Check("other-lengths", "one token, then as many tokens as the vocabulary has",
          lambda d: _model(d, (2, 1), (2, WORDS))),
    module_learns_too((2, 4, WORDS), Check("three-layers", "another number of layers and heads",
          lambda d: _model(d, (2, 4), init=[WORDS, 10, 3, 1, 5]))),
    Check("causal", "no position sees the future",
          lambda d: modules.changed_word(_model(d, (3, 6)), 0, 3, WORDS),
          positions_change("token 3 changes")),
    Check("history", "every position sees everything before it",
          lambda d: modules.changed_word(_model(d, (3, 6)), 0, 0, WORDS),
          positions_change("token 0 changes"), weight=0.5),
    Check("alone", "a text gives the same result alone and in a batch", lambda d: modules.asked_as(
              modules.ChangedPositions, modules.also_alone(module(SIZES, {}, [_ids(d, 3, 6)]))),
          positions_change("text 0 is taken out of its batch"), weight=0.5),
    Check("registered", "an optimiser finds every part",
          lambda d: ReadState(SIZES, paths=list(weights.language_model(d, SIZES)), facts=["registered"]),
          matches_reference(unregistered)),
    Check("learns", "gradients reach every part",
          lambda d: modules.gradients(_model(d, (2, 5)), d.normal(2, 5, WORDS)), gradients_match()),
    Check("dropout", "dropout is on in train mode, at the given rate",
          lambda d: _model(d, (2, 5), train=True, max_len=9, dropout=NEARLY_ALL)),
    Check("too-long", "a text longer than max_len raises a ValueError",
          lambda d: module([*SIZES, 6], {}, [_ids(d, 2, 7)]), weight=0.5, raises="ValueError"),
    Check("long-enough", "max_len may exceed 512",
          lambda d: _model(d, (1, 530), init=[WORDS, 8, 1, 1, 4], max_len=540), weight=0.5),
    arguments(lambda d: _model(d, (2, 5)), are_probabilities, names=["ids"]),
    *properties(lambda d: _model(d, (2, 5)),
                sizes=lambda d: [_model(d, (1, 1), init=[WORDS, 2, 1, 1, 1]),
                                 _model(d, (12, 50), init=[WORDS, 48, 2, 8, 90])]),
    defaults(lambda d: [_model(d, (1, length), init=[WORDS, 4, 1, 1, 2], train=True)
                        for length in (4, 512, 513)], max_len=(512, 600), dropout=(0.1, 0.5)),
])
