"""Checks of `CausalDecoderLayer`."""

import torch

from autograder.judge.draw import Draw
from autograder.judge.exercise import Exercise, Lesson, Stimulus, module
from autograder.judge.judgement import agrees
from autograder.lessons.decoder import reference
from autograder.lessons.decoder.block_mistakes import add_block_mistakes
from autograder.lessons.decoder.judges import (
    calls_differ,
    does_not_end_in_norm,
    fact,
    gradients,
    has_nan,
    moves_rightly,
    passes_nothing_on,
    say,
    unchanged_call,
)
from autograder.lessons.decoder.layer import dropout_case
from autograder.lessons.decoder.weights import Weights, block, last_layers, silenced

D, HEADS, D_FF = 12, 3, 20
INIT = [D, HEADS, D_FF, 0.0]
GENERAL = (
    has_nan,
    does_not_end_in_norm("norm2", "norm1"),
    calls_differ("Is something kept from one call to the next, or made for one length only?"),
    say(
        "The numbers differ. The checks in which one sub-layer speaks tell which to look at: what "
        "does it read, and what is its result added to?"
    ),
)
judge = agrees(*GENERAL)


def add_block(lesson: Lesson) -> None:
    """Declare the exercise, its cases and its misconceptions."""
    exercise = lesson.exercise(
        "causal-decoder-layer", 4, "CausalDecoderLayer", reference=reference.CausalDecoderLayer
    )
    _add_single_parts(exercise)
    _add_whole(exercise)
    _add_movements(exercise)
    _add_dropout(exercise)
    _add_other(exercise)
    add_block_mistakes(exercise)


def _weights(draw: Draw, d_ff: int = D_FF) -> Weights:
    return block(draw, D, d_ff)


def _add_single_parts(exercise: Exercise) -> None:
    alone = say(
        "The other sub-layer is silent here: what does this one read, and what is its result added to?"
    )
    single = agrees(has_nan, does_not_end_in_norm("norm2", "norm1"), passes_nothing_on, alone)

    @exercise.case("with both sub-layers silent, x passes through as it is", judge=agrees(
        has_nan, does_not_end_in_norm("norm2", "norm1"),
        say("Nothing but additions lies on the main path, so x should come out; something has changed it.")))  # fmt: skip
    def main_path(draw: Draw) -> Stimulus:
        return module(
            INIT, silenced(_weights(draw), "self_attention", "feed_forward"), [draw.normal(2, 4, D)]
        )

    @exercise.case("the self-attention, with the feed-forward silent", judge=single)
    def self_attention_alone(draw: Draw) -> Stimulus:
        return module(
            INIT, silenced(_weights(draw), "feed_forward"), [draw.normal(2, 5, D, scale=2)]
        )

    @exercise.case("the feed-forward, with the self-attention silent", judge=single)
    def feed_forward_alone(draw: Draw) -> Stimulus:
        return module(
            INIT, silenced(_weights(draw), "self_attention"), [draw.normal(2, 5, D, scale=2)]
        )


def _add_whole(exercise: Exercise) -> None:
    @exercise.case("both sub-layers, five tokens, two samples", judge=judge, weight=2)
    def whole_block(draw: Draw) -> Stimulus:
        return module(INIT, _weights(draw), [draw.normal(2, 5, D, scale=2)])

    @exercise.case("as many samples as tokens as heads", judge=judge, weight=0.5)
    def equal_sizes(draw: Draw) -> Stimulus:
        return module(INIT, _weights(draw), [draw.normal(3, 3, D)])

    @exercise.case(
        "seven tokens, then three, then one: each call makes the mask it needs", judge=judge
    )
    def lengths(draw: Draw) -> Stimulus:
        return module(INIT, _weights(draw), *([draw.normal(2, length, D)] for length in (7, 3, 1)))

    @exercise.case(
        "another number of heads; built without the argument dropout", judge=judge, weight=0.5
    )
    def other_heads(draw: Draw) -> Stimulus:
        return module([D, 6, 9], _weights(draw, 9), [draw.normal(3, 4, D)])


def _add_movements(exercise: Exercise) -> None:
    def moved(draw: Draw, where: tuple[slice, slice]) -> Stimulus:
        first = draw.normal(3, 6, D)
        second = first.clone()
        second[where] = draw.normal(*first[where].shape, scale=2)
        return Stimulus("moves", module(INIT, _weights(draw), [first], [second]).inputs)

    @exercise.case("a change of one token moves it and those after it, and none before it",
                   judge=moves_rightly("token 2 changes"))  # fmt: skip
    def token_moves(draw: Draw) -> Stimulus:
        return moved(draw, (slice(None), slice(2, 3)))

    @exercise.case("a change in one sample moves that sample alone", weight=0.5,
                   judge=moves_rightly("all tokens of sample 1 change"))  # fmt: skip
    def samples_stay_apart(draw: Draw) -> Stimulus:
        return moved(draw, (slice(1, 2), slice(None)))


def _add_dropout(exercise: Exercise) -> None:
    @exercise.case("in eval mode nothing is dropped", weight=0.5, judge=fact(
        "With dropout 0.8 two calls in eval mode differ: `F.dropout` is live unless it gets `self.training`."))  # fmt: skip
    def eval_repeats(draw: Draw) -> Stimulus:
        asked = module([D, HEADS, D_FF, 0.8], _weights(draw), [draw.normal(2, 5, D)])
        return dropout_case(asked, "repeats", [])

    @exercise.case("in train mode dropout acts on what each sub-layer puts out, before it is added", weight=0.5, judge=fact(
        "With a dropout of nearly 1 only x should be left, untouched; it is not."))  # fmt: skip
    def train_drops_sub_layers(draw: Draw) -> Stimulus:
        weights = _weights(draw)
        asked = module([D, HEADS, D_FF, 1 - 1e-7], weights, [draw.normal(2, 5, D)])
        return dropout_case(asked, "drops parts", last_layers(weights))

    @exercise.case("the dropout of the layer reaches its feed-forward", weight=0.5, judge=fact(
        "With dropout 0.9 most hidden units of the feed-forward should be dropped; here most are not."))  # fmt: skip
    def feed_forward_drops(draw: Draw) -> Stimulus:
        weights = silenced(block(draw, 24, 1), "self_attention")
        weights |= {
            "feed_forward.linear1.bias": torch.tensor([30.0]),
            "feed_forward.linear2.bias": torch.zeros(24),
        }
        asked = module([24, 2, 1, 0.9], weights, [draw.normal(4, 10, 24)])
        return dropout_case(asked, "drops inside", ["feed_forward.linear2.weight"])

    @exercise.case("with dropout 0 nothing is dropped in train mode either", weight=0.5, judge=fact(
        "With dropout 0 train mode gives other numbers than eval mode: some part has a dropout of its own."))  # fmt: skip
    def nothing_to_drop(draw: Draw) -> Stimulus:
        weights = {
            p: torch.zeros_like(v) if ".w_v." in p else v for p, v in _weights(draw, 40).items()
        }
        asked = module([D, HEADS, 40, 0.0], weights, [draw.normal(4, 6, D)])
        return dropout_case(asked, "drops nothing", [])


def _add_other(exercise: Exercise) -> None:
    @exercise.case(
        "it works in float64, and leaves x as it is",
        weight=0.5,
        judge=unchanged_call(("x",), *GENERAL),
    )
    def arguments(draw: Draw) -> Stimulus:
        asked = module(INIT, _weights(draw), [draw.normal(2, 4, D).double()])
        return Stimulus("module_double", asked.inputs)

    @exercise.case("gradients reach every parameter and x", judge=gradients(("x",)), weight=0.5)
    def learns(draw: Draw) -> Stimulus:
        asked = module(INIT, _weights(draw), [draw.normal(2, 5, D)])
        return Stimulus("all_gradients", {**asked.inputs, "cotangent": draw.normal(2, 5, D)})
