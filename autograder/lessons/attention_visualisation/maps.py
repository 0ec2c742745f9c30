"""Checks of `attention_maps`."""

from collections.abc import Sequence
from typing import Any

import torch

from autograder.judge.draw import Draw
from autograder.judge.exercise import Exercise, Lesson, Stimulus
from autograder.judge.judgement import Seen, agrees, unchanged
from autograder.lessons.attention_visualisation import reference
from autograder.lessons.attention_visualisation.maps_mistakes import add_mistakes
from autograder.lessons.transformer.symptoms import facts
from autograder.lessons.transformer.weights import transformer

SIZES = (13, 17, 8, 4, 2, 12)  # vocabularies, d_model, heads, layers, d_ff
CLOSE = 1e-3
FACTS = {
    "hooks left": "{} hooks are still on the model afterwards: keep what register_forward_hook returns, "
    "and call its remove().",
    "train mode afterwards": "The model is left in another mode than it came in (train mode afterwards: {}).",
    "parts in another mode": "{} parts of the model are left in another mode than the model itself.",
    "weights unchanged": "The model's weights are not what they were before.",
    "trainable afterwards": "The model's weights ask for no gradient any more.",
    "changed later": "Running the model again changes the maps that were returned earlier.",
}


def _pairs(seen: Seen) -> list[tuple[str, torch.Tensor, torch.Tensor]]:
    """Return each map that came beside the one expected, of the first call that differs."""
    got, want = seen.got.value, seen.expected.value
    calls = zip(got, want, strict=True) if isinstance(want, list) else [(got, want)]
    for one, right in calls:
        pairs = [(key, one[key], value.detach()) for key, value in right.items()]
        if any(not torch.allclose(a, b, atol=CLOSE) for _, a, b in pairs):
            return pairs
    return []


def _distributions(seen: Seen) -> str | None:
    for key, got, _ in _pairs(seen):
        sums = got.sum(dim=-1)
        if not torch.allclose(sums, torch.ones_like(sums), atol=CLOSE):
            worst = sums.flatten()[(sums - 1).abs().argmax()]
            return (
                f"A row of '{key}' sums to {worst:.3g}, not to 1: are these the weights, after the softmax "
                "and without dropout?"
            )
    return None


def _hidden(seen: Seen) -> str | None:
    for key, got, want in _pairs(seen):
        leaked = got.masked_fill(want > 0, 0.0)
        if leaked.max() > CLOSE:
            layer, head, query, key_place = (int(n) for n in (leaked > CLOSE).nonzero()[0])
            return (
                f"In '{key}', layer {layer}, head {head}, query {query} gives {leaked.max():.2f} at most to keys "
                f"that the model hides, such as key {key_place}: was it run with its masks?"
            )
    return None


def _which(seen: Seen) -> str | None:
    wrong, places = [], ""
    for key, got, want in _pairs(seen):
        layers = [i for i in range(len(want)) if not torch.allclose(got[i], want[i], atol=CLOSE)]
        if layers:
            wrong.append(key)
            places = places or f"layers {layers} of '{key}'"
    if not wrong:
        return None
    whole = (
        "all three maps are" if len(wrong) == 3 else f"{' and '.join(wrong)} differ; the rest is"
    )
    return f"The numbers are not those of the model as it runs on this input: {whole} {'wrong' if len(wrong) == 3 else 'right'}, beginning with {places}."


judge = agrees(_distributions, _hidden, _which)


def add_maps(lesson: Lesson) -> None:
    """Declare the exercise, its cases and its misconceptions."""
    exercise = lesson.exercise(
        "attention-maps", 4, "attention_maps", reference=reference.attention_maps
    )
    _add_values(exercise)
    _add_models(exercise)
    _add_manners(exercise)
    add_mistakes(exercise)


def _ids(draw: Draw, length: int, real: int, pad: int = 0) -> torch.Tensor:
    """Return (1, length) ids, of which those behind the first `real` are padding."""
    ids = draw.integers(6, 13, 1, length)
    ids[:, real:] = pad
    return ids


def _asked(
    draw: Draw, *calls: Sequence[torch.Tensor], sizes: Sequence[int] = SIZES, train: bool = False,
    noted: bool = False, passed: bool = False, double: bool = False, **kwargs: Any,
) -> Stimulus:  # fmt: skip
    source, target, d_model, _, layers, d_ff = sizes
    weights = transformer(draw, source, target, d_model, layers, d_ff)
    inputs = {"init": list(sizes), "init_kwargs": kwargs, "weights": weights, "train": train}
    inputs |= {"facts": noted, "passed": passed, "double": double}
    return Stimulus("maps", {**inputs, "calls": [list(args) for args in calls]})


def _add_values(exercise: Exercise) -> None:
    @exercise.case(
        "three maps, of all layers and heads, for seven source and five target tokens",
        judge=judge,
        weight=2,
    )
    def three_maps(draw: Draw) -> Stimulus:
        return _asked(draw, [_ids(draw, 7, 7), _ids(draw, 5, 5)])

    @exercise.case("the masks are those that the model uses: padding gets nothing", judge=judge)
    def padding(draw: Draw) -> Stimulus:
        return _asked(draw, [_ids(draw, 7, 4), _ids(draw, 6, 5)])

    @exercise.case("the model's own pad_id", judge=judge, weight=0.5)
    def other_padding(draw: Draw) -> Stimulus:
        return _asked(draw, [_ids(draw, 6, 4, 5), _ids(draw, 5, 4, 5)], pad_id=5)

    @exercise.case("source and target of one length", judge=judge, weight=0.5)
    def equal_lengths(draw: Draw) -> Stimulus:
        return _asked(draw, [_ids(draw, 6, 6), _ids(draw, 6, 6)])

    @exercise.case("each call gives the weights of its own input", judge=judge)
    def fresh(draw: Draw) -> Stimulus:
        calls = [[_ids(draw, 7, 7), _ids(draw, 5, 5)] for _ in range(2)]
        return _asked(draw, *calls)


def _add_models(exercise: Exercise) -> None:
    @exercise.case("a model of three layers with two heads", judge=judge, weight=0.5)
    def three_layers(draw: Draw) -> Stimulus:
        return _asked(draw, [_ids(draw, 4, 4), _ids(draw, 6, 6)], sizes=(13, 17, 6, 2, 3, 10))

    @exercise.case("a model of one layer with one head", judge=judge, weight=0.5)
    def one_layer(draw: Draw) -> Stimulus:
        return _asked(draw, [_ids(draw, 5, 5), _ids(draw, 3, 3)], sizes=(13, 17, 6, 1, 1, 10))

    @exercise.case("a model whose encoder and decoder were passed in", judge=judge, weight=0.5)
    def passed_in(draw: Draw) -> Stimulus:
        return _asked(draw, [_ids(draw, 7, 6), _ids(draw, 5, 5)], passed=True)

    @exercise.case(
        "a model in float64, and ids that stay as they are", judge=unchanged(), weight=0.5
    )
    def double(draw: Draw) -> Stimulus:
        return _asked(draw, [_ids(draw, 5, 5), _ids(draw, 4, 4)], double=True)


def _add_manners(exercise: Exercise) -> None:
    @exercise.case("dropout is off, although the model comes in train mode", judge=judge)
    def from_train_mode(draw: Draw) -> Stimulus:
        return _asked(draw, [_ids(draw, 7, 6), _ids(draw, 5, 5)], train=True, dropout=0.6)

    @exercise.case("a model in train mode is left as it came, without hooks", judge=facts(FACTS))
    def leaves_train_mode(draw: Draw) -> Stimulus:
        return _asked(draw, [_ids(draw, 4, 4), _ids(draw, 3, 3)], train=True, noted=True)

    @exercise.case("a model in eval mode is left as it came, without hooks", judge=facts(FACTS))
    def leaves_eval_mode(draw: Draw) -> Stimulus:
        return _asked(draw, [_ids(draw, 4, 4), _ids(draw, 3, 3)], noted=True)
