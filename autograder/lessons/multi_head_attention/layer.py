"""Checks of `MultiHeadAttention`."""

import torch

from autograder.judge.draw import Draw
from autograder.judge.exercise import Exercise, Lesson, Stimulus, module
from autograder.judge.judgement import Seen, agrees
from autograder.lessons.multi_head_attention import reference
from autograder.lessons.multi_head_attention.layer_mistakes import add_mistakes
from autograder.lessons.multi_head_attention.symptoms import (
    GENERAL,
    future_leaks,
    gradients_arrive,
    heads_see_a_slice,
    samples_mix,
    unchanged_call,
)

LAYERS = ("w_q", "w_k", "w_v", "w_o")
judge = agrees(*GENERAL)


def add_layer(lesson: Lesson) -> None:
    """Declare the exercise, its cases and its misconceptions."""
    exercise = lesson.exercise(
        "multi-head-attention", 8, "MultiHeadAttention", reference=reference.MultiHeadAttention
    )
    _add_plain_cases(exercise)
    _add_pairs_of_calls(exercise)
    _add_masked_cases(exercise)
    _add_dropout_cases(exercise)
    _add_other_cases(exercise)
    add_mistakes(exercise)


def _weights(draw: Draw, d_model: int) -> dict[str, torch.Tensor]:
    return {path: value for name in LAYERS for path, value in draw.linear(name, d_model, d_model).items()}


def _cross(draw: Draw, batch: int = 3) -> list[torch.Tensor]:
    """Four queries of width 10 read seven keys; query, key and value are three tensors."""
    return [draw.normal(batch, length, 10) for length in (4, 7, 7)]


def _add_plain_cases(exercise: Exercise) -> None:
    @exercise.case("four queries read seven keys; query, key and value all differ", judge=judge, weight=2)
    def cross(draw: Draw) -> Stimulus:
        return module([10, 2], _weights(draw, 10), _cross(draw))

    @exercise.case("self-attention: query, key and value are the same", judge=judge)
    def self_attention(draw: Draw) -> Stimulus:
        x = draw.normal(2, 5, 12)
        return module([12, 3], _weights(draw, 12), [x, x, x])

    @exercise.case("a single head", judge=judge, weight=0.5)
    def one_head(draw: Draw) -> Stimulus:
        return module([6, 1], _weights(draw, 6), [draw.normal(2, n, 6) for n in (3, 5, 5)])

    @exercise.case("as many heads as features, as samples, as tokens", judge=judge, weight=0.5)
    def narrow(draw: Draw) -> Stimulus:
        return module([4, 4], _weights(draw, 4), [draw.normal(4, 4, 4) for _ in range(3)])


def _add_pairs_of_calls(exercise: Exercise) -> None:
    @exercise.case("every head sees every feature", judge=agrees(heads_see_a_slice, *GENERAL))
    def every_feature(draw: Draw) -> Stimulus:
        first = draw.normal(2, 5, 6)
        second = first.clone()
        second[..., -1] += draw.normal(2, 5, scale=2)
        return module([6, 3], _weights(draw, 6), [first] * 3, [second] * 3)

    @exercise.case("under a causal mask the future stays out of sight", judge=agrees(future_leaks, *GENERAL))
    def causal(draw: Draw) -> Stimulus:
        first, mask = draw.normal(3, 5, 8), torch.ones(5, 5, dtype=torch.bool).tril()
        second = first.clone()
        second[:, -1] += draw.normal(3, 8, scale=2)
        return module([8, 2], _weights(draw, 8), [*[first] * 3, mask], [*[second] * 3, mask])

    @exercise.case("a sample gives the same alone and in a batch", judge=agrees(samples_mix, *GENERAL))
    def alone(draw: Draw) -> Stimulus:
        batch = _cross(draw)
        return module([10, 2], _weights(draw, 10), batch, [part[:1] for part in batch])


def _add_masked_cases(exercise: Exercise) -> None:
    @exercise.case("a mask (T_q, T_k) for all samples", judge=judge)
    def shared_mask(draw: Draw) -> Stimulus:
        return module([10, 2], _weights(draw, 10), [*_cross(draw), draw.mask(4, 7)])

    @exercise.case("a mask (B, T_q, T_k), another for each sample", judge=judge)
    def own_masks(draw: Draw) -> Stimulus:
        return module([10, 2], _weights(draw, 10), [*_cross(draw), draw.mask(3, 4, 7)])

    @exercise.case("a padding mask (B, 1, T_k), each sample of its own length", judge=judge)
    def padding(draw: Draw) -> Stimulus:
        real = (torch.arange(7) < torch.tensor([4, 7, 2])[:, None]).unsqueeze(1)
        return module([10, 2], _weights(draw, 10), [*_cross(draw), real])

    @exercise.case("as many samples as heads: each mask stays with its sample", judge=judge)
    def batch_equals_heads(draw: Draw) -> Stimulus:
        real = (torch.arange(7) < torch.tensor([3, 7])[:, None]).unsqueeze(1)
        calls = [[*_cross(draw, 2), mask] for mask in (real, draw.mask(2, 4, 7))]
        return module([10, 2], _weights(draw, 10), *calls)

    @exercise.case("a query that may attend to nothing gets zero weights, and the bias of w_o", judge=judge)
    def nothing_to_see(draw: Draw) -> Stimulus:
        mask = draw.mask(3, 4, 7)
        mask[0, 2], mask[2, 1] = False, False
        return module([10, 2], _weights(draw, 10), [*_cross(draw), mask])


def _all_ones(draw: Draw) -> dict[str, torch.Tensor]:
    """Return weights that make every value 1 and leave the merged heads as they are."""
    weights = _weights(draw, 12)
    made = {"w_v.weight": torch.zeros(12, 12), "w_v.bias": torch.ones(12)}
    return weights | made | {"w_o.weight": torch.eye(12), "w_o.bias": torch.zeros(12)}


def _dropout(draw: Draw, init: list[float], *, train: bool) -> Stimulus:
    calls = [draw.normal(2, length, 12) for length in (5, 9, 9)]
    asked = module(init, _all_ones(draw), calls, train=train)
    return Stimulus("dropout_facts", {**asked.inputs, "heads": 3})


def _on_needlessly(seen: Seen) -> str | None:
    if seen.got.value.get("changes"):
        return "Where every value is 1 the heads should read 1 here, and they do not: is dropout at work?"
    return None


def _dropout_in_words(seen: Seen) -> str | None:
    if not seen.got.value.get("changes"):
        return "In train mode with dropout 0.8 the heads read exactly what they read without."
    if not seen.got.value.get("together"):
        return "Single features are lost, not whole weights: dropout belongs before the values are mixed."
    return None


def _add_dropout_cases(exercise: Exercise) -> None:
    @exercise.case("dropout is off in eval mode", judge=agrees(_on_needlessly))
    def dropout_off(draw: Draw) -> Stimulus:
        return _dropout(draw, [12, 3, 0.8], train=False)

    @exercise.case("without the argument nothing is dropped in train mode either", judge=agrees(_on_needlessly), weight=0.5)
    def dropout_default(draw: Draw) -> Stimulus:
        return _dropout(draw, [12, 3], train=True)

    @exercise.case("in train mode dropout acts on the weights", judge=agrees(_dropout_in_words))
    def dropout_on(draw: Draw) -> Stimulus:
        return _dropout(draw, [12, 3, 0.8], train=True)


def _add_other_cases(exercise: Exercise) -> None:
    @exercise.case("a width that cannot be divided among the heads raises ValueError")
    def not_divisible(draw: Draw) -> Stimulus:
        x = draw.normal(2, 3, 10)
        return module([10, 4], {}, [x, x, x])

    @exercise.case("it works in float64, and leaves its arguments as they are", judge=unchanged_call(*GENERAL))
    def arguments(draw: Draw) -> Stimulus:
        calls = [*(part.double() for part in _cross(draw)), draw.mask(3, 4, 7)]
        return Stimulus("module_double", module([10, 2], _weights(draw, 10), calls).inputs)

    @exercise.case("gradients reach all four layers", judge=gradients_arrive)
    def learns(draw: Draw) -> Stimulus:
        asked = module([10, 2], _weights(draw, 10), _cross(draw))
        return Stimulus("module_gradient", {**asked.inputs, "cotangent": draw.normal(3, 4, 10)})
