"""Checks of `Transformer`."""

from collections.abc import Sequence
from typing import Any

import torch

from autograder.judge.draw import Draw
from autograder.judge.exercise import Exercise, Lesson, Stimulus, module
from autograder.judge.judgement import agrees
from autograder.lessons.multi_head_attention.symptoms import gradients_arrive, unchanged_call
from autograder.lessons.transformer import reference
from autograder.lessons.transformer.model_mistakes import add_mistakes
from autograder.lessons.transformer.symptoms import GENERAL, facts, first_weights, moved, samples
from autograder.lessons.transformer.weights import transformer

SIZES = [11, 13, 8, 4, 2, 12]  # vocabularies, d_model, heads, layers, d_ff
NEARLY_ALL = 1 - 1e-9  # a dropout that leaves nothing
LEARNT = (
    "encoder.embedding.embed.weight", "encoder.layers.0.self_attention.w_v.weight",
    "encoder.layers.1.feed_forward.linear2.bias", "decoder.embedding.embed.weight",
    "decoder.layers.0.cross_attention.w_k.weight", "decoder.layers.1.norm3.bias", "decoder.project.bias",
)  # fmt: skip
MATRICES = (
    "encoder.embedding.embed.weight", "encoder.layers.0.self_attention.w_q.weight",
    "encoder.layers.1.self_attention.w_o.weight", "encoder.layers.1.feed_forward.linear1.weight",
    "decoder.embedding.embed.weight", "decoder.layers.0.self_attention.w_k.weight",
    "decoder.layers.1.cross_attention.w_v.weight", "decoder.layers.1.feed_forward.linear2.weight",
    "decoder.project.weight",
)  # fmt: skip


def add_transformer(lesson: Lesson) -> None:
    """Declare the exercise, its cases and its misconceptions."""
    exercise = lesson.exercise("transformer", 5, "Transformer", reference=reference.Transformer)
    _add_values(exercise)
    _add_masks(exercise)
    _add_properties(exercise)
    _add_construction(exercise)
    _add_others(exercise)
    add_mistakes(exercise)


def _ids(draw: Draw, vocabulary: int, lengths: Sequence[int], size: int) -> torch.Tensor:
    """Return (B, size) ids of real tokens, with padding behind each length."""
    ids = draw.integers(3, vocabulary, len(lengths), size)
    return ids.masked_fill(torch.arange(size) >= torch.tensor(lengths)[:, None], 0)


def _asked(
    draw: Draw,
    calls: Sequence[tuple[str, list[Any]]],
    real: Sequence[torch.Tensor | None] = (),
    **more: Any,
) -> Stimulus:
    """Ask methods of a model with drawn weights."""
    made = module(SIZES, transformer(draw, 11, 13), *(args for _, args in calls), **more)
    names = [name for name, _ in calls]
    return Stimulus(
        "methods", {**made.inputs, "methods": names, "real": list(real) or [None] * len(names)}
    )


def _add_values(exercise: Exercise) -> None:
    @exercise.case(
        "logits for a source of seven tokens and a target of five", judge=agrees(*GENERAL), weight=2
    )
    def logits(draw: Draw) -> Stimulus:
        return _asked(draw, [("", [_ids(draw, 11, [7] * 3, 7), _ids(draw, 13, [5] * 3, 5)])])

    @exercise.case("encode gives the memory", judge=agrees(*GENERAL))
    def encodes(draw: Draw) -> Stimulus:
        src = _ids(draw, 11, [7, 4, 6], 7)
        return _asked(draw, [("encode", [src])], [src != 0])

    @exercise.case("decode reads the memory it is given", judge=agrees(*GENERAL))
    def decodes(draw: Draw) -> Stimulus:
        src, tgt = _ids(draw, 11, [7, 3], 7), _ids(draw, 13, [5, 5], 5)
        return _asked(draw, [("decode", [tgt, draw.normal(2, 7, 8), src])])

    @exercise.case(
        "one token of each, and then source and target of one length", judge=agrees(*GENERAL)
    )
    def equal_lengths(draw: Draw) -> Stimulus:
        short = [_ids(draw, 11, [1], 1), _ids(draw, 13, [1], 1)]
        src, tgt = _ids(draw, 11, [4, 6, 3], 6), _ids(draw, 13, [6, 5, 6], 6)
        return _asked(draw, [("", short), ("", [src, tgt])], [None, tgt != 0])


def _add_masks(exercise: Exercise) -> None:
    @exercise.case(
        "each source has padding of its own",
        judge=agrees(samples([1, 2], "in the source"), *GENERAL),
    )
    def source_padding(draw: Draw) -> Stimulus:
        return _asked(draw, [("", [_ids(draw, 11, [7, 2, 5], 7), _ids(draw, 13, [5] * 3, 5)])])

    @exercise.case(
        "<pad> among the target's tokens is not read",
        judge=agrees(samples([1], "in the target"), *GENERAL),
        weight=0.5,
    )
    def target_padding(draw: Draw) -> Stimulus:
        tgt = _ids(draw, 13, [5, 5], 5)
        tgt[1, 2] = 0
        return _asked(draw, [("", [_ids(draw, 11, [7, 7], 7), tgt])], [tgt != 0])

    @exercise.case("another pad_id", judge=agrees(samples([0], "5"), *GENERAL))
    def other_padding(draw: Draw) -> Stimulus:
        src, tgt = draw.integers(6, 11, 2, 7), draw.integers(6, 13, 2, 6)
        src[0, 4:], tgt[0, 3] = 5, 5
        return _asked(draw, [("", [src, tgt]), ("encode", [src])], [tgt != 5, src != 5], pad_id=5)

    @exercise.case("the model keeps pad_id", weight=0.5)
    def keeps_pad_id(_draw: Draw) -> Stimulus:
        made = module([9, 10, 4, 2, 1, 6], {}, [], pad_id=5)
        return Stimulus("defaults", {**made.inputs, "arguments": [], "attributes": ["pad_id"]})


def _moves(*calls: list[torch.Tensor], rows: int = 3) -> Stimulus:
    """Compare two calls on whatever weights the model starts with."""
    return Stimulus("rows_moved", {**module(SIZES, {}, *calls).inputs, "rows": rows})


def _add_properties(exercise: Exercise) -> None:
    @exercise.case("the future stays out of sight", judge=moved("Changing target token 3", 3))
    def causal(draw: Draw) -> Stimulus:
        src, tgt = _ids(draw, 11, [7] * 3, 7), _ids(draw, 13, [5] * 3, 5)
        other = tgt.clone()
        other[:, 3] = 3 + (tgt[:, 3] - 2) % 10
        return _moves([src, tgt], [src, other])

    @exercise.case(
        "every position reads the target so far",
        judge=moved("Changing target token 0", 0),
        weight=0.5,
    )
    def history(draw: Draw) -> Stimulus:
        src, tgt = _ids(draw, 11, [7] * 3, 7), _ids(draw, 13, [5] * 3, 5)
        other = tgt.clone()
        other[:, 0] = 3 + (tgt[:, 0] - 2) % 10
        return _moves([src, tgt], [src, other])

    @exercise.case(
        "every position reads the whole source", judge=moved("Changing the last source token", 0)
    )
    def reads_source(draw: Draw) -> Stimulus:
        src, tgt = _ids(draw, 11, [7] * 3, 7), _ids(draw, 13, [5] * 3, 5)
        other = src.clone()
        other[:, -1] = 3 + (src[:, -1] - 2) % 8
        return _moves([src, tgt], [other, tgt])

    @exercise.case(
        "more padding behind the source changes nothing",
        judge=moved("Three more <pad> behind the source", None),
    )
    def padding_is_idle(draw: Draw) -> Stimulus:
        src, tgt = _ids(draw, 11, [7, 4, 6], 7), _ids(draw, 13, [5] * 3, 5)
        longer = torch.cat([src, torch.zeros(3, 3, dtype=torch.long)], dim=1)
        return _moves([src, tgt], [longer, tgt])

    @exercise.case(
        "a sample gives the same alone and in a batch",
        judge=moved("Taking sample 0 out of its batch", None),
        weight=0.5,
    )
    def alone(draw: Draw) -> Stimulus:
        src, tgt = _ids(draw, 11, [4, 7, 6], 7), _ids(draw, 13, [5] * 3, 5)
        return _moves([src, tgt], [src[:1, :4].clone(), tgt[:1].clone()], rows=1)


def _add_construction(exercise: Exercise) -> None:
    @exercise.case("every matrix that the model builds starts Xavier-uniform", judge=first_weights)
    def first(_draw: Draw) -> Stimulus:
        made = module([51, 67, 24, 4, 2, 40], {}, [])
        return Stimulus("starts", {**made.inputs, "attributes": list(MATRICES), "skip": 0})

    words = {
        "encoder in use": "The encoder that was passed in is not the one in use.",
        "decoder in use": "The decoder that was passed in is not the one in use.",
        "encoder untouched": "The weights of the encoder that was passed in have been changed.",
        "decoder untouched": "The weights of the decoder that was passed in have been changed.",
    }

    @exercise.case(
        "an encoder and a decoder that are passed in are used as they are", judge=facts(words)
    )
    def own_parts(draw: Draw) -> Stimulus:
        calls = [_ids(draw, 12, [7, 4, 6], 7), _ids(draw, 12, [5] * 3, 5)]
        return Stimulus("own_parts", module([12, 12, 6, 2, 1, 8], {}, calls).inputs)

    @exercise.case("the defaults are the base model of the paper", weight=0.5)
    def base_model(_draw: Draw) -> Stimulus:
        arguments = ["d_model", "num_heads", "num_layers", "d_ff", "max_len", "dropout", "pad_id"]
        made = module([9, 10, 4, 2, 1, 6], {}, [])
        return Stimulus("defaults", {**made.inputs, "arguments": arguments, "attributes": []})

    @exercise.case("a source longer than max_len raises ValueError", weight=0.5)
    def too_long(draw: Draw) -> Stimulus:
        return module(
            [11, 13, 8, 2, 1, 12, 6], {}, [_ids(draw, 11, [7], 7), _ids(draw, 13, [5], 5)]
        )

    @exercise.case("max_len may exceed 512", weight=0.5, judge=agrees(*GENERAL))
    def long_enough(draw: Draw) -> Stimulus:
        weights = transformer(draw, 11, 13, d_model=4, num_layers=1, d_ff=4)
        src = draw.integers(3, 11, 1, 530)
        return module([11, 13, 4, 1, 1, 4, 540], weights, [src, _ids(draw, 13, [3], 3)])


def _add_others(exercise: Exercise) -> None:
    @exercise.case("dropout is off in eval mode, on in train mode, and as strong as asked for")
    def dropout(draw: Draw) -> Stimulus:
        calls = [_ids(draw, 11, [7] * 2, 7), _ids(draw, 13, [5] * 2, 5)]
        return module([*SIZES, 9, NEARLY_ALL], transformer(draw, 11, 13), calls, train=True)

    @exercise.case("gradients reach both halves", judge=gradients_arrive)
    def learns(draw: Draw) -> Stimulus:
        weights = transformer(draw, 11, 13)
        calls = [_ids(draw, 11, [7, 4], 7), _ids(draw, 13, [5, 5], 5)]
        asked = module(SIZES, weights, calls)
        kept = {path: weights[path] for path in LEARNT}
        cotangent = draw.normal(2, 5, 13)
        return Stimulus(
            "gradients_at", {**asked.inputs, "paths": list(kept), "cotangent": cotangent}
        )

    @exercise.case(
        "it works in float64, and leaves its arguments as they are",
        judge=unchanged_call(*GENERAL),
        weight=0.5,
    )
    def arguments(draw: Draw) -> Stimulus:
        calls = [("", [_ids(draw, 11, [7, 4], 7), _ids(draw, 13, [5, 5], 5)])]
        asked = _asked(draw, calls)
        return Stimulus("methods", {**asked.inputs, "double": True})
