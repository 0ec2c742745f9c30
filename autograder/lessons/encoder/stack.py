"""Checks of `Encoder`."""

import torch

from autograder.judge.draw import Draw
from autograder.judge.exercise import Exercise, Lesson, Stimulus, module
from autograder.judge.judgement import Seen, agrees
from autograder.judge.symptoms import whole
from autograder.lessons.encoder import reference
from autograder.lessons.encoder.asking import (
    NEARLY_ALL,
    double,
    encoder_weights,
    hearing,
    learning,
    real,
    sentences,
)
from autograder.lessons.encoder.stack_mistakes import add_mistakes
from autograder.lessons.encoder.symptoms import (
    always,
    ends_in_norm,
    it_learns,
    outputs,
    padding_counts,
    samples_mix,
    untouched,
    who_moves,
)

LAST = ends_in_norm("layers.1.norm2")
SIZES = [13, 8, 2, 2, 12]  # words, d_model, layers, heads, d_ff
judge = agrees(
    LAST,
    always(
        "The last layer's norm comes last, as it should, but something before differs: print what enters the first layer, and what leaves each."
    ),
)


def add_stack(lesson: Lesson) -> None:
    """Declare the exercise, its cases and its misconceptions."""
    exercise = lesson.exercise("encoder", 5, "Encoder", reference=reference.Encoder)
    _add_plain_cases(exercise)
    _add_masked_cases(exercise)
    _add_facts(exercise)
    _add_sizes(exercise)
    _add_dropout_cases(exercise)
    _add_other_cases(exercise)
    add_mistakes(exercise)


def _ids(draw: Draw, *shape: int) -> torch.Tensor:
    return draw.integers(4, 13, *shape)


def _add_plain_cases(exercise: Exercise) -> None:
    @exercise.case("embedding, position, then one layer after the other", judge=judge, weight=2)
    def formula(draw: Draw) -> Stimulus:
        return module(SIZES, encoder_weights(draw, 13, 8, 12, 2), [_ids(draw, 3, 5)])

    @exercise.case("a sample gives the same alone and in a batch", judge=agrees(samples_mix, LAST))
    def alone(draw: Draw) -> Stimulus:
        ids = _ids(draw, 3, 4)
        return module(SIZES, encoder_weights(draw, 13, 8, 12, 2), [ids], [ids[:1]])

    @exercise.case(
        "the same words in another order give something else: positions count",
        judge=agrees(_order_is_lost, LAST),
    )
    def order(draw: Draw) -> Stimulus:
        ids = draw.different(5, 4, 13)
        calls = ([torch.tensor([row])] for row in (ids, ids[::-1]))
        return module(SIZES, encoder_weights(draw, 13, 8, 12, 2), *calls)


def _order_is_lost(seen: Seen) -> str | None:
    forth, back = outputs(seen)
    if torch.allclose(forth, back.flip(1), atol=1e-4):
        return "The same words in reverse order give the same vectors in reverse order: are positions added?"
    return None


def _add_masked_cases(exercise: Exercise) -> None:
    @exercise.case(
        "three sentences of different lengths, with their padding mask", judge=judge, weight=2
    )
    def lengths(draw: Draw) -> Stimulus:
        ids, mask = sentences(draw, 13, 6, 2, 4), real(6, 2, 4)
        return module(SIZES, encoder_weights(draw, 13, 8, 12, 2), [ids, mask])

    @exercise.case(
        "padding behind a sentence changes nothing at its words", judge=agrees(padding_counts, LAST)
    )
    def padded(draw: Draw) -> Stimulus:
        ids, mask = sentences(draw, 13, 4, 6, longest=7), real(4, 6, longest=7)
        calls = ([ids, mask], [ids[:1, :4], mask[:1, :, :4]])
        return module(SIZES, encoder_weights(draw, 13, 8, 12, 2), *calls)

    @exercise.case("a mask (S, S), as it is given", judge=judge, weight=0.5)
    def square_mask(draw: Draw) -> Stimulus:
        return module(
            SIZES, encoder_weights(draw, 13, 8, 12, 2), [_ids(draw, 2, 5), draw.mask(5, 5)]
        )

    @exercise.case("None means no mask, even where there is padding", judge=judge)
    def no_mask(draw: Draw) -> Stimulus:
        return module(SIZES, encoder_weights(draw, 13, 8, 12, 2), [sentences(draw, 13, 5, 3)])


def _add_facts(exercise: Exercise) -> None:
    @exercise.case(
        "every output notices when one word is changed", judge=agrees(who_moves), weight=0.5
    )
    def flip(draw: Draw) -> Stimulus:
        first = _ids(draw, 2, 5)
        second = first.clone()
        second[:, 4] = (first[:, 4] - 3) % 9 + 4
        return hearing([13, 8, 2, 2, 12], [first], [second], range(5))

    @exercise.case("no output at a word notices the padding", judge=agrees(who_moves), weight=0.5)
    def deaf_to_padding(draw: Draw) -> Stimulus:
        ids = _ids(draw, 2, 4)
        long = torch.nn.functional.pad(ids, (0, 3))
        return hearing(
            [13, 8, 2, 2, 12], [ids, real(4, 4)], [long, real(4, 4, longest=7)], range(4)
        )


def _add_sizes(exercise: Exercise) -> None:
    @exercise.case("three layers, all different", judge=agrees(ends_in_norm("layers.2.norm2")))
    def three_layers(draw: Draw) -> Stimulus:
        return module(
            [9, 6, 3, 1, 7], encoder_weights(draw, 9, 6, 7, 3), [draw.integers(4, 9, 2, 4)]
        )

    @exercise.case(
        "a single layer, and a single word",
        judge=agrees(ends_in_norm("layers.0.norm2")),
        weight=0.5,
    )
    def one_layer(draw: Draw) -> Stimulus:
        calls = ([draw.integers(4, 9, 2, length)] for length in (1, 3))
        return module([9, 6, 1, 3, 7], encoder_weights(draw, 9, 6, 7, 1), *calls)

    @exercise.case("a sentence longer than max_len raises ValueError", weight=0.5)
    def too_long(draw: Draw) -> Stimulus:
        return module(SIZES, encoder_weights(draw, 13, 8, 12, 2), [_ids(draw, 2, 6)], max_len=5)

    @exercise.case("max_len may be more than 512", weight=0.5)
    def very_long(draw: Draw) -> Stimulus:
        return module(
            [13, 4, 1, 1, 4], encoder_weights(draw, 13, 4, 4, 1), [_ids(draw, 1, 514)], max_len=514
        )


def _dropped_needlessly(_seen: Seen) -> str | None:
    return "Something is dropped here, or drawn at random, that should not be: does `dropout` reach the position and every layer?"


def _dropout_remains(seen: Seen) -> str | None:
    tokens = whole(seen).flatten(0, 1)
    if not torch.allclose(tokens, tokens[:1].expand_as(tokens), atol=1e-3):
        return "With dropout near 1 nothing of the words should get past the position in train mode. Is it built with `dropout`?"
    return None


def _add_dropout_cases(exercise: Exercise) -> None:
    @exercise.case("nothing is dropped in eval mode", judge=agrees(_dropped_needlessly), weight=0.5)
    def dropout_off(draw: Draw) -> Stimulus:
        weights = encoder_weights(draw, 13, 8, 12, 2)
        return module(SIZES, weights, [_ids(draw, 2, 5)], dropout=NEARLY_ALL)

    @exercise.case(
        "dropout 0 drops nothing in train mode", judge=agrees(_dropped_needlessly), weight=0.5
    )
    def dropout_none(draw: Draw) -> Stimulus:
        weights = encoder_weights(draw, 13, 8, 12, 2)
        return module(SIZES, weights, [_ids(draw, 3, 7)], dropout=0.0, train=True)

    @exercise.case(
        "in train mode dropout acts on the embedded words and in every layer",
        judge=agrees(_dropout_remains),
        weight=0.5,
    )
    def dropout_on(draw: Draw) -> Stimulus:
        weights = encoder_weights(draw, 13, 8, 12, 2)
        return module(SIZES, weights, [_ids(draw, 2, 5)], dropout=NEARLY_ALL, train=True)


def _add_other_cases(exercise: Exercise) -> None:
    @exercise.case("an optimiser finds every parameter, and gradients reach it", judge=it_learns)
    def learns(draw: Draw) -> Stimulus:
        asked = module(SIZES, encoder_weights(draw, 13, 8, 12, 2), [_ids(draw, 2, 5)], dropout=0.0)
        return learning(asked, draw.normal(2, 5, 8))

    @exercise.case(
        "it works in float64, and leaves ids and mask as they are",
        judge=untouched(["ids", "mask"], LAST),
    )
    def arguments(draw: Draw) -> Stimulus:
        calls = [sentences(draw, 13, 5, 3), real(5, 3)]
        return double(module(SIZES, encoder_weights(draw, 13, 8, 12, 2), calls))
