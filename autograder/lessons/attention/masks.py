"""Checks of `causal_mask` and `padding_mask`."""

import torch

from autograder.judge.draw import Draw
from autograder.judge.exercise import Lesson, Stimulus, call
from autograder.judge.judgement import Seen, agrees
from autograder.judge.symptoms import whole
from autograder.lessons.attention import reference


def add_masks(lesson: Lesson) -> None:
    """Declare both exercises, their cases and their misconceptions."""
    _add_causal(lesson)
    _add_padding(lesson)


def _first_wrong_entry(seen: Seen) -> str | None:
    """Say in words what the mask lets a query do, or keeps it from doing."""
    got, want = whole(seen), seen.expected.value
    row, column = (int(i) for i in (got != want).nonzero()[0])
    if got[row, column]:
        return f"Position {row} may attend to position {column}, which comes after it."
    return f"Position {row} may not attend to position {column}, though it does not come after it."


def _add_causal(lesson: Lesson) -> None:
    exercise = lesson.exercise("causal-mask", 2, "causal_mask", reference=reference.causal_mask)

    @exercise.case(
        "each position sees itself and what comes before", judge=agrees(_first_wrong_entry)
    )
    def six(_draw: Draw) -> Stimulus:
        return call(6)

    @exercise.case("it has the size that is asked for", judge=agrees(_first_wrong_entry))
    def any_size(draw: Draw) -> Stimulus:
        return call(draw.integer(7, 15))

    @exercise.case("a single position sees itself", judge=agrees(_first_wrong_entry), weight=0.5)
    def one(_draw: Draw) -> Stimulus:
        return call(1)

    mistake = exercise.misconception
    mistake("sees-one-ahead", "The diagonal is off by one: each position sees the next one too",
            "Row 0 belongs to the first position. How many positions may it see?",
            edits={".tril()": ".tril(diagonal=1)"})  # fmt: skip
    mistake("blind-to-itself", "The diagonal is off by one: no position sees itself",
            "Row 0 of your mask is empty; what would the first position attend to?",
            edits={".tril()": ".tril(diagonal=-1)"})  # fmt: skip
    mistake("upper", "The triangle is the wrong one: each position sees itself and the future",
            "Row i is the query's, column j the key's: j ≤ i.",
            edits={".tril()": ".triu()"})  # fmt: skip
    mistake("inverted", "True and False are exchanged: here True = may attend",
            "nn.MultiheadAttention marks what is hidden; this course marks what is seen.",
            edits={"return everything.tril()": "return ~everything.tril()"})  # fmt: skip
    mistake("not-boolean", "The mask holds numbers, not True and False",
            "Ask for its dtype; `dtype=torch.bool` or a comparison gives the right one.",
            edits={", dtype=torch.bool": ""})  # fmt: skip
    mistake("everything-seen", "Every position sees every other",
            "Print the mask for size 3: which entries should be False?",
            edits={".tril()": ""})  # fmt: skip
    mistake("minus-infinity", "The mask holds 0 and −∞, to be added to the scores",
            "Another convention, and a good one; here the mask is boolean.",
            edits={"return everything.tril()":
                   "return torch.zeros(size, size).masked_fill(~everything.tril(), float('-inf'))"})  # fmt: skip
    mistake("extra-dimension", "The mask has a batch dimension too many",
            "(size, size) broadcasts over batches and heads by itself.",
            edits={"everything.tril()": "everything.tril().unsqueeze(0)"})  # fmt: skip


def _ids(draw: Draw, lengths: list[int], size: int, pad_id: int) -> torch.Tensor:
    """Return (B, size) ids of 1 to 8 with `pad_id` behind each length, itself nowhere else."""
    ids = draw.integers(1, 9, len(lengths), size)
    ids = torch.where(ids == pad_id, torch.full_like(ids, 9), ids)
    places = torch.arange(size)
    return ids.masked_fill(places >= torch.tensor(lengths)[:, None], pad_id)


def _padding_words(seen: Seen) -> str | None:
    got, want = whole(seen), seen.expected.value
    sample, _, place = (int(i) for i in (got != want).nonzero()[0])
    token = int(seen.inputs["args"][0][sample, place])
    kind = "a real token" if want[sample, 0, place] else "padding"
    return f"Sample {sample}, position {place} holds {token}, {kind}; your mask says {bool(got[sample, 0, place])}."


def _add_padding(lesson: Lesson) -> None:
    exercise = lesson.exercise("padding-mask", 2, "padding_mask", reference=reference.padding_mask)

    @exercise.case("real tokens are True, padding is False", judge=agrees(_padding_words))
    def lengths(draw: Draw) -> Stimulus:
        return call(_ids(draw, [7, 4, 1], 7, 0))

    @exercise.case("another padding id", judge=agrees(_padding_words))
    def other_id(draw: Draw) -> Stimulus:
        ids = _ids(draw, [3, 6], 6, 5)
        ids[1, 2], ids[0, 1] = 0, 7
        return call(ids, pad_id=5)

    @exercise.case("a sample of nothing but padding", judge=agrees(_padding_words), weight=0.5)
    def only_padding(draw: Draw) -> Stimulus:
        return call(_ids(draw, [0, 5, 2], 5, 0))

    mistake = exercise.misconception
    mistake("inverted", "True and False are exchanged: here True = a real token",
            "key_padding_mask of nn.MultiheadAttention marks the padding; this mask marks the rest.",
            edits={"ids != pad_id": "ids == pad_id"})  # fmt: skip
    mistake("no-query-dimension", "The dimension of the queries is missing: (B, S), not (B, 1, S)",
            "Against scores (B, T_q, T_k), what would a (B, S) mask line up with?",
            edits={"return is_real.unsqueeze(1)": "return is_real"})  # fmt: skip
    mistake("masks-queries", "The queries are masked, not the keys: (B, S, 1) instead of (B, 1, S)",
            "Every query may ask; what should not be read is padding among the keys.",
            edits={"unsqueeze(1)": "unsqueeze(2)"})  # fmt: skip
    mistake("four-dimensions", "There is one dimension too many: (B, 1, 1, S)",
            "That is the form for scores with heads; here it is (B, 1, S).",
            edits={"unsqueeze(1)": "unsqueeze(1).unsqueeze(1)"})  # fmt: skip
    mistake("pad-id-ignored", "The argument `pad_id` is ignored: 0 is always taken for padding",
            "Try it with pad_id=5.", edits={"ids != pad_id": "ids != 0"})  # fmt: skip
    mistake("greater-than", "Ids above pad_id are taken for real, instead of ids that differ from it",
            "With pad_id=5, is token 3 padding?", edits={"ids != pad_id": "ids > pad_id"})  # fmt: skip
    mistake("both-sides", "Queries are masked as well as keys: (B, S, S)",
            "A padded query reads something nobody looks at; (B, 1, S) broadcasts over the queries.",
            edits={"is_real.unsqueeze(1)": "is_real.unsqueeze(1) & is_real.unsqueeze(2)"})  # fmt: skip
    mistake("not-boolean", "The mask holds numbers, not True and False",
            "A comparison gives booleans; leave them as they are.",
            edits={"is_real.unsqueeze(1)": "is_real.unsqueeze(1).long()"})  # fmt: skip
