"""Checks of `shift_right`."""

import torch

from autograder.judge.draw import Draw
from autograder.judge.exercise import Exercise, Lesson, Stimulus, call
from autograder.judge.judgement import Seen, agrees, unchanged
from autograder.judge.symptoms import whole
from autograder.lessons.decoder import reference

START = "start = torch.full_like(target[:, :1], sos_id)"
JOIN = "return torch.cat([start, target[:, :-1]], dim=1)"


def _first_wrong_id(seen: Seen) -> str | None:
    """Say where the first id is wrong, and what stands there."""
    got, want = whole(seen), seen.expected.value
    row, column = (int(i) for i in (got != want).nonzero()[0])
    target = seen.inputs["args"][0][row].tolist()
    said = f"Row {row} of the target is {target}; yours is shifted to {got[row].tolist()}."
    if column == 0:
        return f"{said} The first token should be {want[row, 0]}, the start token."
    return f"{said} Position {column} should hold target token {column - 1}, {want[row, column]}."


judge = agrees(_first_wrong_id)


def add_shift(lesson: Lesson) -> None:
    """Declare the exercise, its cases and its misconceptions."""
    exercise = lesson.exercise("shift-right", 2, "shift_right", reference=reference.shift_right)

    @exercise.case("the start token first, the last token dropped", judge=judge, weight=2)
    def shifted(draw: Draw) -> Stimulus:
        return call(draw.integers(4, 30, 3, 5))

    @exercise.case("as many samples as tokens: it is rows that are shifted", judge=judge)
    def square(draw: Draw) -> Stimulus:
        return call(draw.integers(4, 30, 4, 4))

    @exercise.case("the end token and padding move along like any other", judge=judge)
    def with_padding(draw: Draw) -> Stimulus:
        target = draw.integers(4, 30, 3, 6)
        target[0, 5], target[1, 3:], target[2, 2:] = (
            2,
            torch.tensor([2, 0, 0]),
            torch.tensor([2, 0, 0, 0]),
        )
        return call(target)

    @exercise.case("the start token is the one that is given", judge=judge)
    def other_start(draw: Draw) -> Stimulus:
        return call(draw.integers(4, 30, 2, 4), sos_id=draw.integer(31, 40))

    @exercise.case("of a single token only the start token is left", judge=judge, weight=0.5)
    def one_token(draw: Draw) -> Stimulus:
        return call(draw.integers(4, 30, 3, 1))

    @exercise.case("the target comes back unchanged", judge=unchanged(_first_wrong_id))
    def arguments(draw: Draw) -> Stimulus:
        return call(draw.integers(4, 30, 2, 7))

    _add_mistakes(exercise)


def _add_mistakes(exercise: Exercise) -> None:
    mistake = exercise.misconception
    mistake("shifted-left", "The target is shifted to the left, so that position t holds the token after its answer",
            "Which tokens does position t have to know, to predict token t?",
            edits={JOIN: "return torch.cat([target[:, 1:], start], dim=1)"})  # fmt: skip
    mistake("first-replaced", "The first token is replaced by the start token, and nothing is shifted",
            "Compare position 2 of target and result: the token to be predicted must not stand there.",
            edits={JOIN: "return torch.cat([start, target[:, 1:]], dim=1)"})  # fmt: skip
    mistake("last-kept", "The last token is kept, so that the result is one longer than the target",
            "Nothing is left to predict after the last token. How long are inputs and answers?",
            edits={JOIN: "return torch.cat([start, target], dim=1)"})  # fmt: skip
    mistake("start-missing", "The last token is dropped, but no start token is put in front",
            "From what should the first token be predicted?",
            edits={JOIN: "return target[:, :-1]"})  # fmt: skip
    mistake("start-at-the-end", "The start token is put at the end",
            "Which end of a sentence does a decoder begin with?",
            edits={JOIN: "return torch.cat([target[:, :-1], start], dim=1)"},
            also=[{JOIN: "return torch.cat([target, start], dim=1)"}])  # fmt: skip
    mistake("rolled", "The tokens go round in a circle: the last one comes first",
            "The place that becomes free belongs to the start token, not to the last token.",
            edits={JOIN: "return torch.roll(target, 1, dims=1)"})  # fmt: skip
    mistake("not-shifted", "The target is returned as it is",
            "Position t would see the token it has to predict.", edits={JOIN: "return target"})  # fmt: skip
    mistake("two-start-tokens", "The start token stands there twice, and two tokens are dropped",
            "One place to the right, not two.",
            edits={JOIN: "return torch.cat([start, start, target[:, :-2]], dim=1)[:, : target.size(1)]"})  # fmt: skip
    mistake("start-fixed", "The start token is always 1, whatever `sos_id` says",
            "Call it with sos_id=6.", edits={START: "start = torch.ones_like(target[:, :1])"})  # fmt: skip
    mistake("end-for-start", "Rows begin with the end token, or with padding, not with the start token",
            "<pad> is 0, <sos> is 1, <eos> is 2.",
            edits={START: "start = torch.full_like(target[:, :1], 2)"},
            also=[{START: "start = torch.zeros_like(target[:, :1])"}])  # fmt: skip
    mistake("samples-shifted", "The samples are shifted, not the tokens: dimension 0 is the batch",
            "A row is a sentence. Along which dimension do tokens follow each other?",
            edits={START: "start = torch.full_like(target[:1], sos_id)",
                   JOIN: "return torch.cat([start, target[:-1]], dim=0)"})  # fmt: skip
    mistake("end-token-removed", "The end token is taken out of each row, not the last token",
            "Every row loses its last position, whatever stands there; the end token stays where it is followed by padding.",
            edits={JOIN: "shifted = torch.cat([start, target[:, :-1]], dim=1)\n"
                   "    return torch.where(shifted == 2, 0, shifted)"})  # fmt: skip
    mistake("floats", "The result is of floats: ids have to stay whole numbers",
            "torch.ones and torch.zeros make floats; *_like takes the dtype over.",
            edits={START: "start = torch.full((len(target), 1), float(sos_id))"})  # fmt: skip
    mistake("in-place", "The target is changed in place",
            "The loss needs the target afterwards, unshifted. Make a new tensor.",
            edits={JOIN: "target[:, 1:] = target[:, :-1].clone()\n    target[:, :1] = start\n    return target"},
            also=[{JOIN: "target[:, 1:] = target[:, :-1].clone()\n    target[:, :1] = start\n    return target.clone()"}])  # fmt: skip
