"""Checks of `target_mask`."""

import torch

from autograder.judge.draw import Draw
from autograder.judge.exercise import Exercise, Lesson, Stimulus, call
from autograder.judge.judgement import Seen, agrees, unchanged
from autograder.judge.symptoms import whole
from autograder.lessons.decoder import reference

CAUSAL = "causal = causal_mask(ids.size(1)).to(ids.device)"
REAL = "real = padding_mask(ids, pad_id)"
BOTH = "return causal & real"


def _first_wrong_entry(seen: Seen) -> str | None:
    """Say in words what the mask lets a query do, or keeps it from doing."""
    got, want = whole(seen), seen.expected.value
    sample, query, key = (int(i) for i in (got != want).nonzero()[0])
    ids = seen.inputs["args"][0][sample]
    pad_id = seen.inputs["kwargs"].get("pad_id", 0)
    what = f"In sample {sample}, {ids.tolist()}, position {query}"
    if got[sample, query, key]:
        why = "which comes after it" if key > query else "which is padding"
        return f"{what} may attend to position {key}, {why}."
    why = "is real and does not come after it"
    if ids[query] == pad_id:
        why += "; a query that is padding follows the same rule as any other"
    return f"{what} may not attend to position {key}, though that {why}."


judge = agrees(_first_wrong_entry)


def _padded(draw: Draw, lengths: list[int], longest: int, pad_id: int = 0) -> torch.Tensor:
    """Return ids (B, T) of the given lengths, right-padded."""
    ids = draw.integers(11, 30, len(lengths), longest)
    return ids.masked_fill(torch.arange(longest) >= torch.tensor(lengths)[:, None], pad_id)


def add_mask(lesson: Lesson) -> None:
    """Declare the exercise, its cases and its misconceptions."""
    exercise = lesson.exercise("target-mask", 3, "target_mask", reference=reference.target_mask)

    @exercise.case("three targets of different lengths", judge=judge, weight=2)
    def padded(draw: Draw) -> Stimulus:
        return call(_padded(draw, [5, 2, 4], 5))

    @exercise.case("without padding it is causal, and nothing else", judge=judge)
    def causal(draw: Draw) -> Stimulus:
        return call(_padded(draw, [6, 6], 6))

    @exercise.case("as many samples as positions", judge=judge)
    def square(draw: Draw) -> Stimulus:
        return call(_padded(draw, [4, 1, 3, 2], 4))

    @exercise.case("the padding id is the one that is given", judge=judge)
    def other_padding(draw: Draw) -> Stimulus:
        ids = _padded(draw, [3, 6], 6, pad_id=9)
        ids[:, 1] = 0
        return call(ids, pad_id=9)

    @exercise.case("padding at the beginning, and in the middle", judge=judge, weight=0.5)
    def padding_anywhere(draw: Draw) -> Stimulus:
        ids = _padded(draw, [5, 5], 5)
        ids[0, :2], ids[1, 2] = 0, 0
        return call(ids)

    @exercise.case("a single token sees itself", judge=judge, weight=0.5)
    def one_token(draw: Draw) -> Stimulus:
        return call(_padded(draw, [1, 1, 1], 1))

    @exercise.case("the ids come back unchanged", judge=unchanged(_first_wrong_entry), weight=0.5)
    def arguments(draw: Draw) -> Stimulus:
        return call(_padded(draw, [7, 3], 7))

    _add_mistakes(exercise)
    _add_mistaken_forms(exercise)


def _add_mistakes(exercise: Exercise) -> None:
    mistake = exercise.misconception
    mistake("combined-with-or", "The masks are combined with or: every real token may be read, the future included",
            "True is a permission. A key may be read if it is not in the future, and if it is real.",
            edits={BOTH: "return causal | real"},
            also=[{BOTH: "return (causal.int() + real.int()) > 0"}])  # fmt: skip
    mistake("padding-alone", "Only the padding is hidden: every position sees the future",
            "Look at row 0 of your mask. How many tokens may the first position see?",
            edits={BOTH: "return real.expand(-1, ids.size(1), -1)"},
            also=[{BOTH: "return real"}])  # fmt: skip
    mistake("causal-alone", "Only the future is hidden: padding may be read",
            "Two samples of different lengths need different masks.",
            edits={BOTH: "return causal.expand(len(ids), -1, -1)"},
            also=[{BOTH: "return causal"}, {BOTH: "return causal & torch.ones_like(real)"}])  # fmt: skip
    mistake("padded-queries-closed", "The rows of padded queries are closed as well",
            "Hiding padding hides columns. What is a row for which nothing is allowed to do?",
            edits={BOTH: "return causal & real & real.transpose(1, 2)"})  # fmt: skip
    mistake("padding-hides-rows", "Padding closes rows instead of columns",
            "A row is what one query may see. Whose row and whose column does a padded token have?",
            edits={BOTH: "return causal & real.transpose(1, 2)"})  # fmt: skip
    mistake("padded-queries-open", "Padded queries may attend to everything",
            "There is no exception for padded queries: they see the real tokens before them.",
            edits={BOTH: "return causal & real | ~real.transpose(1, 2)"})  # fmt: skip
    mistake("padding-sees-itself", "The diagonal is always open, so that padding may attend to itself",
            "Nobody may attend to padding, padding included. A row of padding sees the real tokens before it.",
            edits={BOTH: "return causal & real | torch.eye(ids.size(1), dtype=torch.bool)"})  # fmt: skip
    mistake("inverted", "True and False are exchanged: this mask says what is hidden",
            "True = may attend.", edits={BOTH: "return ~(causal & real)"})  # fmt: skip
    mistake("padding-inverted", "The padding mask is inverted: only padding may be read",
            "padding_mask is True where a token is real.", edits={BOTH: "return causal & ~real"})  # fmt: skip
    mistake("wrong-triangle", "The triangle is the wrong one: each position sees itself and the future",
            "Row i is the query's, column j the key's: j ≤ i.",
            edits={BOTH: "return causal.T & real"}, also=[{BOTH: "return ~causal & real"}])  # fmt: skip
    mistake("sees-one-ahead", "The diagonal is off by one: each position sees the next one too",
            "After the shift to the right, which position holds the token that position t has to predict?",
            edits={CAUSAL: "causal = torch.ones(ids.size(1), ids.size(1), dtype=torch.bool).tril(diagonal=1)"})  # fmt: skip
    mistake("blind-to-itself", "The diagonal is off by one: no position sees itself",
            "The input is shifted already: at position t stands token t − 1, which is known.",
            edits={CAUSAL: "causal = torch.ones(ids.size(1), ids.size(1), dtype=torch.bool).tril(diagonal=-1)"})  # fmt: skip


def _add_mistaken_forms(exercise: Exercise) -> None:
    mistake = exercise.misconception
    mistake("padding-id-ignored", "The argument `pad_id` is ignored",
            "Call it with pad_id=9, and with ids that contain 0.",
            edits={REAL: "real = padding_mask(ids)"})  # fmt: skip
    mistake("size-of-the-batch", "The causal mask is as large as the batch, not as long as the targets",
            "ids has the shape (B, T): which of the two is the number of positions?",
            edits={CAUSAL: "causal = causal_mask(ids.size(0))"})  # fmt: skip
    mistake("mask-of-the-first", "All samples get the mask of the first one",
            "Each sample is padded in its own way.",
            edits={BOTH: "return (causal & real[:1]).expand(len(ids), -1, -1)"})  # fmt: skip
    mistake("causal-shortened", "The triangle is cut down to the shortest sample: longer ones lose tokens",
            "Each sample keeps its own length; broadcasting gives every sample a mask.",
            edits={BOTH: "return causal & real.all(dim=0, keepdim=True).expand_as(real)"})  # fmt: skip
    mistake("heads-included", "There is a dimension too many: (B, 1, T, T)",
            "MultiHeadAttention takes (B, T, T) and finds the place of the heads by itself.",
            edits={BOTH: "return (causal & real).unsqueeze(1)"})  # fmt: skip
    mistake("numbers", "The mask is of numbers, not of booleans",
            "Keep it boolean: `&` on two boolean tensors gives a boolean tensor.",
            edits={BOTH: "return (causal & real).float()"},
            also=[{BOTH: "return (causal & real).int()"}, {BOTH: "return (causal & real).long()"}])  # fmt: skip
    mistake("additive", "The mask holds 0 and −∞, to be added: this course's masks are boolean",
            "True where a query may attend, False where not.",
            edits={BOTH: "return torch.zeros(causal.shape).masked_fill(~(causal & real), float('-inf'))"},
            also=[{BOTH: "return torch.zeros(causal.shape).masked_fill(~(causal & real), -1e9)"}])  # fmt: skip
