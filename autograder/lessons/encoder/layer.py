"""Checks of `EncoderLayer`."""

import torch

from autograder.judge.draw import Draw
from autograder.judge.exercise import Exercise, Lesson, Stimulus, module
from autograder.judge.judgement import Seen, agrees
from autograder.judge.symptoms import whole
from autograder.lessons.encoder import reference
from autograder.lessons.encoder.asking import (
    NEARLY_ALL,
    Weights,
    double,
    hearing,
    layer_weights,
    learning,
    real,
)
from autograder.lessons.encoder.layer_mistakes import add_mistakes
from autograder.lessons.encoder.symptoms import (
    always,
    ends_in_norm,
    hidden_is_heard,
    it_learns,
    samples_mix,
    untouched,
    weights_unused,
    who_moves,
)

LAST = (weights_unused("norm2"), ends_in_norm("norm2"))
judge = agrees(
    *LAST,
    always(
        "norm2 comes last, as it should, but does not get the sum it should get: print both terms of it."
    ),
)


def add_layer(lesson: Lesson) -> None:
    """Declare the exercise, its cases and its misconceptions."""
    exercise = lesson.exercise("encoder-layer", 6, "EncoderLayer", reference=reference.EncoderLayer)
    _add_plain_cases(exercise)
    _add_silent_cases(exercise)
    _add_masked_cases(exercise)
    _add_dropout_cases(exercise)
    _add_other_cases(exercise)
    add_mistakes(exercise)


def _silent(weights: Weights, *names: str) -> Weights:
    """Return weights in which the last linear layers of these sublayers put out nothing."""
    ends = [
        {"attention": "self_attention.w_o", "feed-forward": "feed_forward.linear2"}[name]
        for name in names
    ]
    return {
        path: value * 0 if path.startswith(tuple(ends)) else value
        for path, value in weights.items()
    }


def _add_plain_cases(exercise: Exercise) -> None:
    @exercise.case("attention, add and norm, feed-forward, add and norm", judge=judge, weight=2)
    def formula(draw: Draw) -> Stimulus:
        return module([6, 2, 9], layer_weights(draw, 6, 9), [draw.normal(3, 5, 6)])

    @exercise.case(
        "another number of heads, and a feed-forward network narrower than d_model", judge=judge
    )
    def other_sizes(draw: Draw) -> Stimulus:
        return module([8, 4, 5], layer_weights(draw, 8, 5), [draw.normal(2, 4, 8)])

    @exercise.case("every token hears every token", judge=agrees(who_moves), weight=0.5)
    def everyone(draw: Draw) -> Stimulus:
        first = draw.normal(2, 5, 8)
        second = first.clone()
        second[:, 3] += draw.normal(2, 8, scale=2)
        return hearing([8, 2, 12, 0.0], [first], [second], range(5))

    @exercise.case("a sample gives the same alone and in a batch", judge=agrees(samples_mix, *LAST))
    def alone(draw: Draw) -> Stimulus:
        x = draw.normal(3, 5, 6)
        return module([6, 3, 8], layer_weights(draw, 6, 8), [x], [x[:1]])


def _what_remains(seen: Seen) -> str | None:
    """Say what came instead of norm2(norm1(x)), where both sublayers return nothing."""
    got, x, w = whole(seen), seen.inputs["calls"][0][0], seen.inputs["weights"]
    one, two = ((w[f"norm{n}.weight"], w[f"norm{n}.bias"]) for n in (1, 2))

    def norm(value: torch.Tensor, by: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
        return torch.nn.functional.layer_norm(value, value.shape[-1:], *by)

    forms = {
        "x itself comes out, un-normed: where do the norms stand?": x,
        "2x comes out: to what is each sublayer's output added?": 2 * x,
        "norm1(x) comes out: is norm2 the last step?": norm(x, one),
        "norm2(x) comes out: is norm1 left out, or its result not used?": norm(x, two),
        "norm1(norm2(x)) comes out: which norm belongs to which sublayer?": norm(norm(x, two), one),
        "norm1(norm1(x)) comes out: is norm2 used?": norm(norm(x, one), one),
        "norm2(norm2(x)) comes out: is norm1 used?": norm(norm(x, two), two),
        "the same comes out for every token: what was x added to?": got[:1, :1].expand_as(got),
    }
    said = next(
        (text for text, form in forms.items() if torch.allclose(got, form, atol=1e-4)), None
    )
    start = "Both sublayers return nothing here, so norm2(norm1(x)) should remain; "
    return f"{start}{said}" if said else f"{start}something else does."


def _add_silent_cases(exercise: Exercise) -> None:
    @exercise.case(
        "where both sublayers return nothing, norm2(norm1(x)) remains", judge=agrees(_what_remains)
    )
    def nothing_added(draw: Draw) -> Stimulus:
        weights = _silent(layer_weights(draw, 6, 9), "attention", "feed-forward")
        return module([6, 2, 9], weights, [draw.normal(3, 5, 6)])

    said = "The attention returns nothing here, so that the fault is in the second half: what does feed_forward read, and what is it added to?"

    @exercise.case(
        "the feed-forward network reads what norm1 gives, and is added to the same",
        judge=agrees(*LAST, always(said)),
    )
    def only_feed_forward(draw: Draw) -> Stimulus:
        return module(
            [6, 2, 9], _silent(layer_weights(draw, 6, 9), "attention"), [draw.normal(3, 5, 6)]
        )

    said = "The feed-forward network returns nothing here, so that the fault is in the first half: what does the attention read, and what is it added to?"

    @exercise.case("attention reads x itself, and is added to x", judge=agrees(*LAST, always(said)))
    def only_attention(draw: Draw) -> Stimulus:
        return module(
            [6, 2, 9], _silent(layer_weights(draw, 6, 9), "feed-forward"), [draw.normal(3, 5, 6)]
        )


def _add_masked_cases(exercise: Exercise) -> None:
    @exercise.case(
        "padding of each sample's own length is not heard",
        judge=agrees(hidden_is_heard, *LAST),
        weight=2,
    )
    def padding(draw: Draw) -> Stimulus:
        mask, first = real(6, 2, 4), draw.normal(3, 6, 8)
        second = torch.where(mask.mT, first, draw.normal(3, 6, 8))
        return module([8, 2, 7], layer_weights(draw, 8, 7), [first, mask], [second, mask])

    @exercise.case("a mask (S, S) for all samples, and one (B, S, S) for each", judge=judge)
    def square_masks(draw: Draw) -> Stimulus:
        calls = [[draw.normal(2, 5, 8), mask] for mask in (draw.mask(5, 5), draw.mask(2, 5, 5))]
        return module([8, 4, 7], layer_weights(draw, 8, 7), *calls)

    @exercise.case("as many samples as heads: each keeps its own mask", judge=judge, weight=0.5)
    def batch_equals_heads(draw: Draw) -> Stimulus:
        return module([6, 3, 7], layer_weights(draw, 6, 7), [draw.normal(3, 5, 6), real(5, 2, 3)])


def _dropped_needlessly(_seen: Seen) -> str | None:
    return "Something is dropped here, or drawn at random, that should not be: where does dropout come from?"


def _dropout_remains(seen: Seen) -> str | None:
    got = whole(seen)
    if not got.any():
        return "Everything is dropped, the skip connection and the norm with it: dropout acts on what a sublayer returns, before it is added."
    tokens = got.flatten(0, 1)
    if torch.allclose(tokens, tokens[:1].expand_as(tokens), atol=1e-3):
        return "All tokens come out alike: the skip connection is dropped too. Only what a sublayer returns should be."
    return None


def _add_dropout_cases(exercise: Exercise) -> None:
    @exercise.case("nothing is dropped in eval mode", judge=agrees(_dropped_needlessly))
    def dropout_off(draw: Draw) -> Stimulus:
        return module([6, 2, 9, NEARLY_ALL], layer_weights(draw, 6, 9), [draw.normal(2, 5, 6)])

    @exercise.case("dropout 0 drops nothing in train mode", judge=agrees(_dropped_needlessly))
    def dropout_none(draw: Draw) -> Stimulus:
        return module(
            [8, 2, 12, 0.0], layer_weights(draw, 8, 12), [draw.normal(3, 7, 8)], train=True
        )

    @exercise.case(
        "in train mode what the sublayers return is dropped, before it is added: with nearly all dropped, norm2(norm1(x)) remains",
        judge=agrees(_dropout_remains),
    )
    def dropout_on(draw: Draw) -> Stimulus:
        return module(
            [6, 2, 9, NEARLY_ALL], layer_weights(draw, 6, 9), [draw.normal(2, 5, 6)], train=True
        )

    @exercise.case(
        "the layer's dropout reaches its feed-forward network",
        judge=agrees(_not_reached),
        weight=0.5,
    )
    def dropout_inside(draw: Draw) -> Stimulus:
        asked = module(
            [6, 2, 9, NEARLY_ALL], layer_weights(draw, 6, 9), [draw.normal(2, 5, 6)], train=True
        )
        return Stimulus("block_part", {**asked.inputs, "part": "feed_forward"})


def _not_reached(_seen: Seen) -> str | None:
    return "With dropout near 1, `feed_forward` alone should return only the bias of its linear2 in train mode: is it built with the layer's dropout?"


def _add_other_cases(exercise: Exercise) -> None:
    @exercise.case("a sentence of a single token", judge=judge, weight=0.5)
    def single(draw: Draw) -> Stimulus:
        return module([6, 1, 8], layer_weights(draw, 6, 8), [draw.normal(2, 1, 6)])

    @exercise.case("gradients reach every parameter, and x", judge=it_learns)
    def learns(draw: Draw) -> Stimulus:
        asked = module([6, 2, 9, 0.0], layer_weights(draw, 6, 9), [draw.normal(2, 5, 6)])
        return learning(asked, draw.normal(2, 5, 6))

    @exercise.case(
        "it works in float64, and leaves x and the mask as they are",
        judge=untouched(["x", "mask"], *LAST),
    )
    def arguments(draw: Draw) -> Stimulus:
        calls = [draw.normal(2, 5, 6).double(), real(5, 3)]
        return double(module([6, 2, 9], layer_weights(draw, 6, 9), calls))
