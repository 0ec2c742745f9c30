"""Checks of `greedy_decode`, with a scripted model that notes how it is called."""

import torch

from autograder.judge.table import (
    Check, Comparison, Draw, ExerciseChecks, arguments, example, facts, matches_reference, properties,
    through,
)
from autograder.lessons.transformer import reference
from autograder.lessons.transformer.fixtures import (
    FIRST_SOURCE, FIRST_WORD, LONGEST, LOST, VOCABULARY, Decode, DecodeFacts, token_of_end,
)

STEPS = LONGEST  # a row that ends there never ends
FACTS = {
    "sources encoded": "Your code should encode each source exactly once. Keep the memory.",
    "in train mode": "The model was called in train mode, where dropout changes the tokens.",
    "with gradient": "The model was called with gradients on. `torch.no_grad()` saves the memory they take.",
    "called after the end": "The model was called once more after every row had finished.",
    "mode afterwards": "Leave the model in the mode it was in before: train mode or eval mode.",
    "trainable afterwards": "After decoding, the model's weights no longer require gradients.",
    "gradient in the result": "The result requires a gradient.",
}


def _first_wrong_row(seen: Comparison) -> str | None:
    got, want = seen.got.value.tolist(), seen.expected.value.tolist()
    if len(got) != len(want):
        return None
    sos = seen.inputs["kwargs"].get("sos_id", 1)
    if all(mine[:1] == [sos] != right[:1] for mine, right in zip(got, want, strict=True)):
        return "Column 0 of the result holds the start token, <sos>. Return what was generated after it."
    row, mine, right = next((n, a, b) for n, (a, b) in enumerate(zip(got, want, strict=True)) if a != b)
    place = next((n for n, pair in enumerate(zip(mine, right, strict=False)) if len({*pair}) > 1), None)
    if place is None:
        return f"The result has too {'many' if len(mine) > len(right) else 'few'} columns."
    said = f"Row {row} is wrong at position {place}."
    if seen.inputs["kwargs"].get("eos_id", 2) in right[:place]:
        return f"{said} What follows <eos> in a row should be the model's `pad_id`."
    if mine[place] != LOST:
        return said
    return (
        f"{said} To predict that token, the model needs that row's memory and all tokens of "
        "that row so far, beginning with <sos>."
    )


def _decode(
    draw: Draw, ends: list[int], max_len: int, *, kind: type[Decode] = Decode, pad_id: int = 0,
    train: bool = False, **kwargs: int,
) -> Decode:
    """Decode a batch in which row i says <eos> at place `ends[i]`, followed by more words."""
    factor = int(draw.integers(2, FIRST_WORD, 1))
    src = draw.integers(4, VOCABULARY, len(ends), 5)
    for row, end in enumerate(ends):
        src[row, 0], src[row, 1] = FIRST_SOURCE + row, token_of_end(end, factor)
    return kind(factor, src, max_len, kwargs, pad_id, train)


exercise = ExerciseChecks(
    reference=reference.greedy_decode, judge=matches_reference(_first_wrong_row, any_form=True),
    examples=[
        example(lambda _: through("greedy_decode", torch.tensor([[7, 5, 10, 10], [4, 8, 6, 9]]), 7),
                shown="greedy_decode(model, src, 7)  # the model repeats its source; its pad_id is 10"),
        example(lambda _: through("greedy_decode", torch.tensor([[9, 4, 7]]), 2, sos_id=8, eos_id=5),
                shown="greedy_decode(model, src, 2, sos_id=8, eos_id=5)"),
        example(lambda _: through("greedy_decode", torch.tensor([[4, 10], [7, 6]]), 5, sos_id=8, eos_id=9),
                shown="greedy_decode(model, src, 5, sos_id=8, eos_id=9)"),
    ], checks=[
    Check("different-ends", "three rows end at different times, followed by padding",
          lambda d: _decode(d, [4, 1, 6], 9), weight=2),
    Check("one-row", "a single row", lambda d: _decode(d, [5], 9), weight=0.5),
    arguments(lambda d: _decode(d, [2, 3], 7), _first_wrong_row, names=["src"], any_form=True),
    Check("other-padding", "finished rows are filled with the model's own pad_id",
          lambda d: _decode(d, [1, 5], 8, pad_id=5)),
    Check("other-ids", "other ids for <sos> and <eos>",
          lambda d: _decode(d, [3, 1, 4], 8, sos_id=5, eos_id=4), weight=0.5),
    Check("never-ends", "rows without <eos> stop after max_len tokens",
          lambda d: _decode(d, [STEPS, STEPS, 2], 6)),
    Check("ends-at-once", "every row begins with <eos>", lambda d: _decode(d, [0, 0], 6), weight=0.5,
          separates=["drawn-at-random"]),
    Check("one-token", "max_len is 1", lambda d: _decode(d, [3, 0, STEPS], 1), weight=0.5,
          separates=["drawn-at-random"]),
    Check("just-in-time", "the last token that max_len allows is <eos>",
          lambda d: _decode(d, [4, 2], 5), weight=0.5),
    Check("from-train-mode", "the source is encoded once, in eval mode and without gradients, "
          "and decoding stops at the end",
          lambda d: _decode(d, [4, 1, 6], 9, kind=DecodeFacts, train=True), facts(FACTS)),
    Check("from-eval-mode", "a model in eval mode stays in eval mode",
          lambda d: _decode(d, [3, 2], 9, kind=DecodeFacts), facts(FACTS), weight=0.5),
    *properties(lambda d: _decode(d, [4, 1, 6], 9),
                sizes=lambda d: [_decode(d, [0], 1), _decode(d, [row % STEPS for row in range(40)], STEPS)]),
])
