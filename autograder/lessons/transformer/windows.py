"""Checks of `language_windows`."""

import torch

from autograder.judge.draw import Draw
from autograder.judge.exercise import Exercise, Lesson, Stimulus, call
from autograder.judge.judgement import Seen, agrees, unchanged
from autograder.lessons.transformer import reference

COUNT = "count = max((len(ids) - 1) // length, 0)"
INPUTS = "inputs = ids[:used].reshape(count, length)"
TARGETS = "targets = ids[1 : used + 1].reshape(count, length)"
RETURN = "return inputs, targets"


def _words(seen: Seen) -> str | None:
    """Show the first row that is wrong, beside the right one."""
    for name, got, want in zip(
        ("inputs", "targets"), seen.got.value, seen.expected.value, strict=True
    ):
        if got.shape == want.shape and not torch.equal(got, want):
            row = int((got != want).any(dim=1).nonzero()[0, 0])
            return f"Row {row} of the {name} is {got[row].tolist()}; it should be {want[row].tolist()}."
    return None


judge = agrees(_words)


def add_windows(lesson: Lesson) -> None:
    """Declare the exercise, its cases and its misconceptions."""
    exercise = lesson.exercise(
        "language-windows", 2, "language_windows", reference=reference.language_windows
    )
    _add_cases(exercise)
    _add_mistakes(exercise)


def _text(draw: Draw, size: int) -> torch.Tensor:
    return torch.tensor(draw.different(size, 4, 90), dtype=torch.long)


def _add_cases(exercise: Exercise) -> None:
    @exercise.case("three windows, and a rest that is dropped", judge=judge, weight=2)
    def with_rest(draw: Draw) -> Stimulus:
        return call(_text(draw, 18), 5)

    @exercise.case("three windows that just fit", judge=judge)
    def exact(draw: Draw) -> Stimulus:
        return call(_text(draw, 13), 4)

    @exercise.case("as many ids as two windows: the last has no target left", judge=judge)
    def one_short(draw: Draw) -> Stimulus:
        return call(_text(draw, 12), length=6)

    @exercise.case("windows of one token", judge=judge, weight=0.5)
    def single(draw: Draw) -> Stimulus:
        return call(_text(draw, 5), 1)

    @exercise.case("a text too short for one window gives (0, length)", judge=judge)
    def too_short(draw: Draw) -> Stimulus:
        return call(_text(draw, 4), 4)

    @exercise.case("an empty text gives (0, length)", judge=judge, weight=0.5)
    def empty(_draw: Draw) -> Stimulus:
        return call(torch.zeros(0, dtype=torch.long), 3)

    @exercise.case("the text stays as it was", judge=unchanged(_words), weight=0.5)
    def arguments(draw: Draw) -> Stimulus:
        return call(_text(draw, 11), 3)


def _add_mistakes(exercise: Exercise) -> None:
    mistake = exercise.misconception
    mistake("overlapping", "The windows overlap: each begins one token after the one before",
            "The second window begins where the first has ended.",
            edits={INPUTS: "inputs = ids[:-1].unfold(0, length, 1) if count else ids.new_zeros(0, length)",
                   TARGETS: "targets = ids[1:].unfold(0, length, 1) if count else ids.new_zeros(0, length)"})  # fmt: skip
    mistake("targets-are-inputs", "The targets are the inputs themselves", "One step on.",
            edits={TARGETS: "targets = inputs.clone()"})  # fmt: skip
    mistake("shifted-inside-the-window", "The targets are shifted within each window: the last one is wrong",
            "The last target of a window is the first input of the next.",
            edits={TARGETS: "targets = inputs.roll(-1, dims=1)"})  # fmt: skip
    mistake("two-steps-on", "The targets are two steps on", "One step on.",
            edits={TARGETS: "targets = ids.roll(-2)[:used].reshape(count, length)"})  # fmt: skip
    mistake("one-step-back", "The targets are one step back: they are what came before",
            "A language model says what comes next.",
            edits={TARGETS: "targets = ids.roll(1)[:used].reshape(count, length)"})  # fmt: skip
    mistake("exchanged", "Inputs and targets are exchanged", "The inputs come first.",
            edits={RETURN: "return targets, inputs"})  # fmt: skip
    mistake("no-target-left", "W is N // length: where the text just fills the windows, the last target is missing",
            "W = (N − 1) // length.",
            edits={COUNT: "count = len(ids) // length"})  # fmt: skip
    mistake("targets-past-the-end", "W is N // length, and the last target is the first token of the text",
            "W = (N − 1) // length: the last id has no next.",
            edits={COUNT: "count = len(ids) // length", TARGETS: "targets = ids.roll(-1)[:used].reshape(count, length)"})  # fmt: skip
    mistake("a-token-lost-between", "A token is lost between windows: they begin length + 1 apart",
            "The last target of a window is the first input of the next.",
            edits={INPUTS: "pieces = ids[: len(ids) // (length + 1) * (length + 1)].reshape(-1, length + 1); inputs = pieces[:, :-1]",
                   TARGETS: "targets = pieces[:, 1:]"})  # fmt: skip
    mistake("one-window-lost", "The last window is dropped although it fits", "W = (N − 1) // length.",
            edits={COUNT: "count = max((len(ids) - 1) // length - 1, 0)"})  # fmt: skip
    mistake("laid-out-in-columns", "The text runs down the columns, not along the rows",
            "A row is a window: neighbours in the text are neighbours in a row.",
            edits={INPUTS: "inputs = ids[:used].reshape(length, count).T", TARGETS: "targets = ids[1 : used + 1].reshape(length, count).T"})  # fmt: skip
    mistake("transposed", "The windows are the columns: (length, W), not (W, length)",
            "Batch first.", edits={RETURN: "return inputs.T, targets.T"})  # fmt: skip
    mistake("rest-kept", "The rest is kept, as a window that begins earlier",
            "A rest that is too short is dropped.",
            edits={RETURN: "if (len(ids) - 1) % length and count: inputs, targets = torch.cat([inputs, ids[-length - 1 : -1][None]]), "
                           "torch.cat([targets, ids[-length:][None]])\n    return inputs, targets"})  # fmt: skip
    mistake("counts-and-lengths-exchanged", "length is taken for the number of windows",
            "It is how long a window is.",
            edits={INPUTS: "inputs = ids[:used].reshape(length, count)", TARGETS: "targets = ids[1 : used + 1].reshape(length, count)"})  # fmt: skip
