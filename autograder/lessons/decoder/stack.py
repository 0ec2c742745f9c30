"""Checks of `Decoder`."""

import torch

from autograder.judge.draw import Draw
from autograder.judge.exercise import Exercise, Lesson, Stimulus, module
from autograder.judge.judgement import agrees
from autograder.lessons.decoder import reference
from autograder.lessons.decoder.judges import (
    are_probabilities,
    calls_differ,
    fact,
    gradients,
    has_nan,
    moves_rightly,
    registered,
    say,
    unchanged_call,
)
from autograder.lessons.decoder.layer import dropout_case
from autograder.lessons.decoder.stack_mistakes import add_stack_mistakes
from autograder.lessons.decoder.weights import Weights, causal, last_layers, real, stack

V, D, HEADS, D_FF = 13, 8, 2, 10
NAMES = ("ids", "memory", "self_mask", "memory_mask")
GENERAL = (
    has_nan,
    are_probabilities,
    calls_differ("Look at what is special about that call."),
    say(
        "The logits are not those of embedding, position, layers and project, in this order and once "
        "each. With one layer or with several? With masks or without? Compare the other checks."
    ),
)
judge = agrees(*GENERAL)


def add_stack(lesson: Lesson) -> None:
    """Declare the exercise, its cases and its misconceptions."""
    exercise = lesson.exercise("decoder", 4, "Decoder", reference=reference.Decoder)
    _add_logits(exercise)
    _add_movements(exercise)
    _add_arguments(exercise)
    _add_dropout(exercise)
    add_stack_mistakes(exercise)


def _init(layers: int, *, max_len: int = 20, dropout: float = 0.0) -> list[float]:
    return [V, D, layers, HEADS, D_FF, max_len, dropout]


def _weights(draw: Draw, layers: int) -> Weights:
    return stack(draw, V, D, layers, D_FF)


def _ids(draw: Draw, batch: int, length: int, lengths: list[int] | None = None) -> torch.Tensor:
    """Return ids that begin with <sos>, right-padded to `length`."""
    ids = draw.integers(4, V, batch, length)
    ids[:, 0] = 1
    return ids if lengths is None else ids.where(real(lengths, length)[:, 0], 0)


def _add_logits(exercise: Exercise) -> None:
    @exercise.case("one layer, without masks", judge=judge)
    def one_layer(draw: Draw) -> Stimulus:
        return module(_init(1), _weights(draw, 1), [_ids(draw, 2, 4), draw.normal(2, 6, D)])

    @exercise.case("three layers, each with weights of its own", judge=judge, weight=1.5)
    def three_layers(draw: Draw) -> Stimulus:
        return module(_init(3), _weights(draw, 3), [_ids(draw, 2, 5), draw.normal(2, 7, D)])

    @exercise.case(
        "both masks reach both layers; three samples, each with its own padding",
        judge=judge,
        weight=1.5,
    )
    def masked(draw: Draw) -> Stimulus:
        ids = _ids(draw, 3, 5, [5, 2, 4])
        masks = [causal(5) & real([5, 2, 4], 5), real([3, 7, 6], 7)]
        return module(_init(2), _weights(draw, 2), [ids, draw.normal(3, 7, D), *masks])

    @exercise.case(
        "target, source and batch of one size: each mask goes into its own attention", judge=judge
    )
    def equal_sizes(draw: Draw) -> Stimulus:
        ids = _ids(draw, 4, 4, [4, 2, 3, 4])
        masks = [causal(4) & real([4, 2, 3, 4], 4), real([2, 4, 1, 3], 4)]
        return module(_init(2), _weights(draw, 2), [ids, draw.normal(4, 4, D), *masks])

    @exercise.case(
        "a single token, then a longer sentence: nothing is kept from call to call",
        judge=judge,
        weight=0.5,
    )
    def calls(draw: Draw) -> Stimulus:
        memory = draw.normal(2, 3, D)
        asked = [[_ids(draw, 2, 1), memory], [_ids(draw, 2, 6), memory, causal(6)]]
        return module(_init(2), _weights(draw, 2), *asked)


def _moved(
    draw: Draw,
    ids: tuple[torch.Tensor, torch.Tensor],
    memory: tuple[torch.Tensor, torch.Tensor],
    *masks: torch.Tensor,
) -> Stimulus:
    """Call twice, with the first and the second of each pair."""
    calls = [[one, two, *masks] for one, two in zip(ids, memory, strict=True)]
    return Stimulus("moves", module(_init(2), _weights(draw, 2), *calls).inputs)


def _add_movements(exercise: Exercise) -> None:
    @exercise.case("a change of one target token moves its logits and those after it, and none before it",
                   judge=moves_rightly("target token 2 changes", moving="row of logits"))  # fmt: skip
    def target_token_moves(draw: Draw) -> Stimulus:
        first, memory = _ids(draw, 2, 5), draw.normal(2, 5, D)
        second = first.clone()
        second[:, 2] = 4 + (first[:, 2] - 3) % (V - 4)
        return _moved(draw, (first, second), (memory, memory), causal(5))

    @exercise.case("a change of the last source token moves the logits at every position",
                   judge=moves_rightly("the last source token changes", moving="row of logits"))  # fmt: skip
    def source_token_moves(draw: Draw) -> Stimulus:
        ids, first = _ids(draw, 2, 5), draw.normal(2, 5, D)
        second = torch.cat([first[:, :4], draw.normal(2, 1, D, scale=3)], dim=1)
        return _moved(draw, (ids, ids), (first, second), causal(5))

    @exercise.case("a change in the padding of the source moves nothing", weight=0.5,
                   judge=moves_rightly("the padding of the source changes", moving="row of logits"))  # fmt: skip
    def source_padding_moves_nothing(draw: Draw) -> Stimulus:
        ids, first = _ids(draw, 2, 4), draw.normal(2, 6, D)
        second = torch.cat([first[:, :3], draw.normal(2, 3, D, scale=3)], dim=1)
        return _moved(draw, (ids, ids), (first, second), causal(4), real([3, 3], 6))


def _add_arguments(exercise: Exercise) -> None:
    @exercise.case("sentences of more than 512 tokens, where max_len allows them", weight=0.5,
                   judge=agrees(*GENERAL, atol=1e-2, rtol=1e-2))  # fmt: skip
    def long_sentence(draw: Draw) -> Stimulus:
        init, weights = [7, 4, 1, 1, 5, 520, 0.0], stack(draw, 7, 4, 1, 5)
        return module(init, weights, [draw.integers(1, 7, 1, 515), draw.normal(1, 2, 4)])

    @exercise.case("every parameter is known to PyTorch", judge=registered, weight=0.5)
    def parts_registered(draw: Draw) -> Stimulus:
        return Stimulus("unregistered", module(_init(2), _weights(draw, 2)).inputs)

    @exercise.case("it works in float64, and leaves its arguments as they are", weight=0.5,
                   judge=unchanged_call(NAMES, *GENERAL))  # fmt: skip
    def arguments(draw: Draw) -> Stimulus:
        args = [_ids(draw, 2, 3), draw.normal(2, 4, D).double(), causal(3), real([4, 2], 4)]
        return Stimulus("module_double", module(_init(2), _weights(draw, 2), args).inputs)

    @exercise.case(
        "gradients reach every parameter and the memory", judge=gradients(NAMES), weight=0.5
    )
    def learns(draw: Draw) -> Stimulus:
        asked = module(
            _init(2), _weights(draw, 2), [_ids(draw, 2, 4), draw.normal(2, 6, D), causal(4)]
        )
        return Stimulus("all_gradients", {**asked.inputs, "cotangent": draw.normal(2, 4, V)})


def _add_dropout(exercise: Exercise) -> None:
    def asked(draw: Draw, dropout: float, *silent: str) -> Stimulus:
        """Call a decoder in which attention dropout, which is free, cannot be seen."""
        weights = {**_weights(draw, 2), "position.pe": torch.zeros(20, D)}
        if "tokens" not in silent:
            del weights["position.pe"]
        off = (
            ".w_v.",
            *(("embedding.",) if "tokens" in silent else ()),
            *((".w_o.", ".linear2.") if "layers" in silent else ()),
        )
        weights = {
            p: torch.zeros_like(v) if any(part in p for part in off) else v
            for p, v in weights.items()
        }
        return module(_init(2, dropout=dropout), weights, [_ids(draw, 4, 6), draw.normal(4, 3, D)])

    @exercise.case("in eval mode nothing is dropped", weight=0.5, judge=fact(
        "With dropout 0.8 two calls in eval mode differ: is every layer in an nn.ModuleList, so that `.eval()` finds it?"))  # fmt: skip
    def eval_repeats(draw: Draw) -> Stimulus:
        return dropout_case(asked(draw, 0.8), "repeats", [])

    @exercise.case("the dropout of the decoder reaches the positions", weight=0.25, judge=fact(
        "With a dropout of nearly 1 nothing of tokens and positions should be left; something is."))  # fmt: skip
    def positions_drop(draw: Draw) -> Stimulus:
        silent = asked(draw, 1 - 1e-7, "layers")
        return dropout_case(silent, "drops parts", ["embedding.embed.weight", "position.pe"])

    @exercise.case("the dropout of the decoder reaches every layer", weight=0.25, judge=fact(
        "With a dropout of nearly 1 nothing of the sub-layers should be left; something is."))  # fmt: skip
    def layers_drop(draw: Draw) -> Stimulus:
        silent = asked(draw, 1 - 1e-7, "tokens")
        return dropout_case(silent, "drops parts", last_layers(silent.inputs["weights"]))

    @exercise.case("with dropout 0 nothing is dropped in train mode", weight=0.5, judge=fact(
        "With dropout 0 train mode gives other numbers than eval mode: which part was not told the rate?"))  # fmt: skip
    def nothing_to_drop(draw: Draw) -> Stimulus:
        return dropout_case(asked(draw, 0.0), "drops nothing", [])
