"""Checks of `DecoderLayer`."""

import torch

from autograder.judge.draw import Draw
from autograder.judge.exercise import Exercise, Lesson, Stimulus, module
from autograder.judge.judgement import agrees
from autograder.lessons.decoder import reference
from autograder.lessons.decoder.judges import (
    calls_differ,
    ends_in_norm,
    fact,
    gradients,
    has_nan,
    moves_rightly,
    passes_nothing_on,
    say,
    unchanged_call,
)
from autograder.lessons.decoder.layer_mistakes import add_layer_mistakes
from autograder.lessons.decoder.weights import causal, last_layers, layer, real, silenced

D, HEADS, D_FF = 12, 3, 20
INIT = [D, HEADS, D_FF, 0.0]
NAMES = ("x", "memory", "self_mask", "memory_mask")
GENERAL = (
    has_nan,
    ends_in_norm("norm3"),
    calls_differ("Look at what is special about that call."),
    say(
        "It ends in `norm3` as it should, but the numbers differ. The checks in which only one "
        "sub-layer speaks tell which one to look at: what goes in, and what is added to what comes out?"
    ),
)
judge = agrees(*GENERAL)


def add_layer(lesson: Lesson) -> None:
    """Declare the exercise, its cases and its misconceptions."""
    exercise = lesson.exercise("decoder-layer", 6, "DecoderLayer", reference=reference.DecoderLayer)
    _add_single_parts(exercise)
    _add_whole(exercise)
    _add_movements(exercise)
    _add_dropout(exercise)
    _add_other(exercise)
    add_layer_mistakes(exercise)


def _batch(draw: Draw, batch: int, target: int, source: int) -> list[torch.Tensor]:
    return [draw.normal(batch, target, D), draw.normal(batch, source, D)]


def _masks(
    target: list[int], longest: int, source: list[int], longest_source: int
) -> list[torch.Tensor]:
    """Return the self mask (B, T, T) and the memory mask (B, 1, S) of padded samples."""
    return [causal(longest) & real(target, longest), real(source, longest_source)]


def _add_single_parts(exercise: Exercise) -> None:
    part = say(
        "All other sub-layers are silent here, so it is this one: what goes in, what is its result "
        "added to, and which norm comes after it?"
    )
    single = agrees(has_nan, passes_nothing_on, ends_in_norm("norm3"), part)

    @exercise.case(
        "the self-attention, with the other parts silent: target tokens read the target before them",
        judge=single,
    )
    def self_attention_alone(draw: Draw) -> Stimulus:
        weights = silenced(layer(draw, D, D_FF), "cross_attention", "feed_forward")
        return module(INIT, weights, [*_batch(draw, 2, 5, 7), causal(5)])

    @exercise.case(
        "the cross-attention, with the other parts silent: target tokens read the source",
        judge=single,
    )
    def cross_attention_alone(draw: Draw) -> Stimulus:
        weights = silenced(layer(draw, D, D_FF), "self_attention", "feed_forward")
        return module(INIT, weights, [*_batch(draw, 2, 5, 7), None, real([7, 4], 7)])

    @exercise.case("the feed-forward, with the other parts silent", judge=single)
    def feed_forward_alone(draw: Draw) -> Stimulus:
        weights = silenced(layer(draw, D, D_FF), "self_attention", "cross_attention")
        return module(INIT, weights, _batch(draw, 2, 4, 6))


def _add_whole(exercise: Exercise) -> None:
    @exercise.case(
        "five target tokens read seven source tokens, without masks", judge=judge, weight=1.5
    )
    def plain(draw: Draw) -> Stimulus:
        return module(INIT, layer(draw, D, D_FF), _batch(draw, 2, 5, 7))

    @exercise.case(
        "three samples, each with its own padding in target and source", judge=judge, weight=1.5
    )
    def masked(draw: Draw) -> Stimulus:
        masks = _masks([5, 2, 4], 5, [3, 7, 6], 7)
        return module(INIT, layer(draw, D, D_FF), [*_batch(draw, 3, 5, 7), *masks])

    @exercise.case(
        "target, source, batch and heads all of one size: each mask goes into its own attention",
        judge=judge,
    )
    def equal_sizes(draw: Draw) -> Stimulus:
        masks = _masks([4, 2, 3, 4], 4, [2, 4, 4, 3], 4)
        return module([D, 4, D_FF, 0.0], layer(draw, D, D_FF), [*_batch(draw, 4, 4, 4), *masks])

    @exercise.case("either mask may be left out", judge=judge, weight=0.5)
    def one_mask(draw: Draw) -> Stimulus:
        self_mask, memory_mask = _masks([4, 3], 4, [6, 2], 6)
        batch = _batch(draw, 2, 4, 6)
        return module(INIT, layer(draw, D, D_FF), [*batch, self_mask], [*batch, None, memory_mask])

    @exercise.case(
        "one target token, then one source token; built without the argument dropout",
        judge=judge,
        weight=0.5,
    )
    def single_tokens(draw: Draw) -> Stimulus:
        calls = [_batch(draw, 2, 1, 6), [*_batch(draw, 3, 4, 1), causal(4)]]
        return module([6 * 2, 2, 9], layer(draw, D, 9), *calls)


def _moved(
    draw: Draw, first: list[torch.Tensor], changed: int, where: tuple[slice, slice]
) -> Stimulus:
    """Call twice, with part of argument `changed` drawn anew for the second time."""
    second = list(first)
    second[changed] = first[changed].clone()
    second[changed][where] = draw.normal(*first[changed][where].shape, scale=2)
    return Stimulus("moves", module(INIT, layer(draw, D, D_FF), first, second).inputs)


def _add_movements(exercise: Exercise) -> None:
    all_samples = slice(None)

    @exercise.case("a change of one target token moves it and those after it, and none before it",
                   judge=moves_rightly("target token 2 changes"))  # fmt: skip
    def target_token_moves(draw: Draw) -> Stimulus:
        return _moved(draw, [*_batch(draw, 2, 5, 5), causal(5)], 0, (all_samples, slice(2, 3)))

    @exercise.case("a change of the last source token moves every output",
                   judge=moves_rightly("the last source token changes"))  # fmt: skip
    def source_token_moves(draw: Draw) -> Stimulus:
        return _moved(draw, [*_batch(draw, 2, 5, 5), causal(5)], 1, (all_samples, slice(4, 5)))

    @exercise.case("a change in the padding of the source moves nothing", weight=0.5,
                   judge=moves_rightly("the padding of the source changes"))  # fmt: skip
    def source_padding_moves_nothing(draw: Draw) -> Stimulus:
        first = [*_batch(draw, 2, 4, 6), causal(4), real([3, 3], 6)]
        return _moved(draw, first, 1, (all_samples, slice(3, 6)))

    @exercise.case("a change in one sample moves that sample alone", weight=0.5,
                   judge=moves_rightly("all source tokens of sample 1 change"))  # fmt: skip
    def samples_stay_apart(draw: Draw) -> Stimulus:
        return _moved(draw, [*_batch(draw, 3, 3, 3), causal(3)], 1, (slice(1, 2), slice(None)))


def dropout_case(asked: Stimulus, name: str, silence: list[str]) -> Stimulus:
    """Turn a module's call into the question whether a fact about its dropout holds."""
    return Stimulus("dropout_fact", {**asked.inputs, "fact": name, "silence": silence})


def _no_attention_dropout(weights: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Make all values equal, so that dropout on attention weights, which is free, cannot be seen."""
    return {p: torch.zeros_like(v) if ".w_v." in p else v for p, v in weights.items()}


def _add_dropout(exercise: Exercise) -> None:
    @exercise.case("in eval mode nothing is dropped", weight=0.5, judge=fact(
        "With dropout 0.8 two calls in eval mode differ: `F.dropout` is live unless it gets `self.training`."))  # fmt: skip
    def eval_repeats(draw: Draw) -> Stimulus:
        asked = module([D, HEADS, D_FF, 0.8], layer(draw, D, D_FF), _batch(draw, 2, 5, 7))
        return dropout_case(asked, "repeats", [])

    @exercise.case("in train mode dropout acts on what each sub-layer puts out, before the residual is added", weight=0.5, judge=fact(
        "With a dropout of nearly 1 only x should be left, and go through the three norms; it does not."))  # fmt: skip
    def train_drops_sub_layers(draw: Draw) -> Stimulus:
        weights = layer(draw, D, D_FF)
        asked = module([D, HEADS, D_FF, 1 - 1e-7], weights, _batch(draw, 2, 5, 7))
        return dropout_case(asked, "drops parts", last_layers(weights))

    @exercise.case("the dropout of the layer reaches its feed-forward", weight=0.5, judge=fact(
        "With dropout 0.9 most hidden units of the feed-forward should be dropped; here most are not."))  # fmt: skip
    def feed_forward_drops(draw: Draw) -> Stimulus:
        weights = silenced(layer(draw, 24, 1), "self_attention", "cross_attention")
        weights |= {
            "feed_forward.linear1.bias": torch.tensor([30.0]),
            "feed_forward.linear2.bias": torch.zeros(24),
        }
        x, memory = draw.normal(4, 10, 24), draw.normal(4, 3, 24)
        asked = module([24, 2, 1, 0.9], weights, [x, memory])
        return dropout_case(asked, "drops inside", ["feed_forward.linear2.weight"])

    @exercise.case("with dropout 0 nothing is dropped in train mode either", weight=0.5, judge=fact(
        "With dropout 0 train mode gives other numbers than eval mode: some part has a dropout of its own."))  # fmt: skip
    def nothing_to_drop(draw: Draw) -> Stimulus:
        weights = _no_attention_dropout(layer(draw, D, 40))
        return dropout_case(
            module([D, HEADS, 40, 0.0], weights, _batch(draw, 4, 6, 3)), "drops nothing", []
        )


def _add_other(exercise: Exercise) -> None:
    @exercise.case("it works in float64, and leaves its arguments as they are", weight=0.5,
                   judge=unchanged_call(NAMES, *GENERAL))  # fmt: skip
    def arguments(draw: Draw) -> Stimulus:
        batch = [part.double() for part in _batch(draw, 2, 3, 4)]
        masks = _masks([3, 2], 3, [1, 4], 4)
        return Stimulus(
            "module_double", module(INIT, layer(draw, D, D_FF), [*batch, *masks]).inputs
        )

    @exercise.case(
        "gradients reach every parameter, x and the memory", weight=0.5, judge=gradients(NAMES)
    )
    def learns(draw: Draw) -> Stimulus:
        asked = module(INIT, layer(draw, D, D_FF), [*_batch(draw, 2, 4, 6), causal(4)])
        return Stimulus("all_gradients", {**asked.inputs, "cotangent": draw.normal(2, 4, D)})
