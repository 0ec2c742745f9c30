"""Checks of `greedy_decode`, with a scripted model that notes how it is used."""

from collections.abc import Sequence
from typing import Any

import torch

from autograder.judge.draw import Draw
from autograder.judge.exercise import Exercise, Lesson, Stimulus
from autograder.judge.judgement import Judge, Seen, agrees, unchanged
from autograder.lessons.transformer import reference
from autograder.lessons.transformer.decoding_mistakes import add_mistakes
from autograder.lessons.transformer.symptoms import facts

EOS, LOST, VOCABULARY = 2, 3, 17


def _words(seen: Seen) -> str | None:
    """Say what is wrong with the first row that is not as the script has it."""
    got, want = seen.got.value, seen.expected.value
    if (
        not isinstance(got, torch.Tensor)
        or got.dim() != 2
        or got.is_floating_point()
        or len(got) != len(want)
    ):
        return None
    for row, (mine, right) in enumerate(zip(got.tolist(), want.tolist(), strict=True)):
        if mine != right:
            return _about_row(row, mine, right, seen.inputs)
    return None


def _about_row(row: int, mine: list[int], right: list[int], inputs: Any) -> str:
    place = next(
        (i for i, (a, b) in enumerate(zip(mine, right, strict=False)) if a != b), len(right)
    )
    eos = inputs["calls_eos"]
    if len(mine) != len(right) and mine[: len(right)] == right[: len(mine)]:
        return f"Row {row} should be {right}; yours goes on or stops at the wrong place: {mine}."
    if eos in right[:place]:
        return f"Row {row} said <eos> ({eos}) at place {right.index(eos)}; from then on it should hold pad_id, {right[-1]}. Yours is {mine}."
    if mine[place] == LOST:
        return (
            f"At place {place} of row {row} the model lost the thread: it was not given all of that row so "
            "far, beginning with <sos>, and that row's memory."
        )
    return f"Row {row} should be {right}; yours is {mine}."


def _judge(*symptoms: Any) -> Judge:
    """As agrees, but a result of whole numbers may hold them in any integer dtype the right ones fit."""
    plain = agrees(*symptoms)

    def judge(seen: Seen) -> Any:
        verdict = plain(seen)
        said = _words(seen) if not verdict.passed and not seen.got.raised else None
        return verdict if said is None else type(verdict)(passed=False, message=said)

    return judge


judge = _judge(_words)
FACTS = {
    "sources encoded": "Your code encoded {} source rows where each one needs encoding once: keep the memory.",
    "in train mode": "The model was asked while in train mode: dropout would change the words.",
    "with gradient": "The model was asked with gradients on: torch.no_grad() spares the memory they take.",
    "asked after the end": "The model was asked for one more word although every row had ended.",
    "mode afterwards": "The model is left in another mode than it came in (train mode afterwards: {}).",
    "trainable afterwards": "After decoding the model's weights ask for no gradient any more.",
    "gradient in the result": "The result asks for a gradient.",
}


def add_decoding(lesson: Lesson) -> None:
    """Declare the exercise, its cases and its misconceptions."""
    exercise = lesson.exercise(
        "greedy-decode", 3, "greedy_decode", reference=reference.greedy_decode
    )
    _add_rows(exercise)
    _add_endings(exercise)
    _add_manners(exercise)
    add_mistakes(exercise)


def _script(draw: Draw, ends: Sequence[int], size: int = 9, eos: int = EOS) -> torch.Tensor:
    """Return (B, size) words above LOST, with <eos> at each row's end and more words behind it."""
    script = draw.integers(6, VOCABULARY, len(ends), size)
    for row, end in enumerate(ends):
        if end < size:
            script[row, end] = eos
    return script


def _asked(
    draw: Draw, script: torch.Tensor, max_len: int, *, pad: int = 0, sos: int = 1, train: bool = False,
    noted: bool = False, eos: int = EOS, **kwargs: Any,
) -> Stimulus:  # fmt: skip
    """Ask for a batch whose sources begin with 4, 5, …, by which the script knows them."""
    src = draw.integers(4, VOCABULARY, len(script), 5)
    src[:, 0] = torch.arange(len(script)) + 4
    common = {"script": script, "vocab": VOCABULARY, "pad": pad, "sos": sos, "train": train}
    asked = {"calls": [[src, max_len]], "kwargs": kwargs, "facts": noted, "calls_eos": eos}
    return Stimulus("greedy", common | asked)


def _add_rows(exercise: Exercise) -> None:
    @exercise.case(
        "three rows end at different times; what follows is padding", judge=judge, weight=2
    )
    def different_ends(draw: Draw) -> Stimulus:
        return _asked(draw, _script(draw, [4, 1, 6]), 9)

    @exercise.case("one row alone", judge=judge, weight=0.5)
    def one_row(draw: Draw) -> Stimulus:
        return _asked(draw, _script(draw, [5]), 9)

    @exercise.case("the arguments stay as they are", judge=unchanged(_words), weight=0.5)
    def arguments(draw: Draw) -> Stimulus:
        return _asked(draw, _script(draw, [2, 3]), 7)

    @exercise.case("the model's own pad_id fills rows that have ended", judge=judge)
    def other_padding(draw: Draw) -> Stimulus:
        return _asked(draw, _script(draw, [1, 5]), 8, pad=5)

    @exercise.case("other ids for <sos> and <eos>", judge=judge, weight=0.5)
    def other_ids(draw: Draw) -> Stimulus:
        script = _script(draw, [3, 1, 4], eos=4)
        return _asked(draw, script, 8, sos=5, eos=4, sos_id=5, eos_id=4)


def _add_endings(exercise: Exercise) -> None:
    @exercise.case("rows that never end stop after max_len tokens", judge=judge)
    def never_ends(draw: Draw) -> Stimulus:
        return _asked(draw, _script(draw, [9, 9, 2]), 6)

    @exercise.case("every row says <eos> at once", judge=judge, weight=0.5)
    def ends_at_once(draw: Draw) -> Stimulus:
        return _asked(draw, _script(draw, [0, 0]), 6)

    @exercise.case("max_len is 1", judge=judge, weight=0.5)
    def one_token(draw: Draw) -> Stimulus:
        return _asked(draw, _script(draw, [3, 0, 9]), 1)

    @exercise.case("the last token that max_len allows is <eos>", judge=judge, weight=0.5)
    def just_in_time(draw: Draw) -> Stimulus:
        return _asked(draw, _script(draw, [4, 2]), 5)


def _add_manners(exercise: Exercise) -> None:
    @exercise.case(
        "the source is encoded once, in eval mode and without gradient, and nothing is asked after the end",
        judge=facts(FACTS),
    )
    def from_train_mode(draw: Draw) -> Stimulus:
        return _asked(draw, _script(draw, [4, 1, 6]), 9, train=True, noted=True)

    @exercise.case("a model that came in eval mode stays in it", judge=facts(FACTS), weight=0.5)
    def from_eval_mode(draw: Draw) -> Stimulus:
        return _asked(draw, _script(draw, [3, 2]), 9, noted=True)
