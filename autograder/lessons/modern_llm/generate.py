"""Checks of `generate`, with a scripted model that notes how it is called."""

from typing import Any

import torch

from autograder.judge.table import (
    Check, Comparison, Draw, ExerciseChecks, Operation, arguments, example, facts, matches_reference,
    properties,
)
from autograder.lessons.modern_llm import reference
from autograder.lessons.modern_llm.fixtures import (
    FIRST_WORD, NEVER, VOCABULARY, FailingWrite, Write, WriteFacts,
)
from coursework.engine.modern_parts import WriteExample

MODE = {"train mode afterwards": "`model.training` should be what it was before the call, "
                                 "also if `choose` or the model raises an exception."}
RAISED = {"exception reaches the caller": "`choose` or the model raised an exception, and your code caught "
                                          "it. `finally` restores the mode, and lets the exception pass.",
          "another in its place": "Your code raised another exception in place of the one from `choose` or "
                                  "the model. `finally` restores the mode, and lets the exception pass.",
          **MODE}
FACTS = {
    "prompt at once": "The prompt should go through the model once, all its tokens at a time.",
    "one at a time": "After the prompt, the model should get the newest token alone, with `past`.",
    "in train mode": "The model was called in train mode, where dropout changes the tokens.",
    "with gradient": "The model was called with gradients on. `torch.no_grad()` saves the memory they take.",
    "gradient in the result": "The result requires a gradient.",
    **MODE,
    "trainable afterwards": "Afterwards, the model's weights no longer require gradients.",
    "logits": "`choose` gets other numbers than the logits of the last position, as the model gives them.",
}


def _first_wrong(seen: Comparison) -> str | None:
    """Say where the new ids differ from the right ones, and whether the prompt or the end is the reason."""
    got, want = seen.got.value[0].tolist(), seen.expected.value[0].tolist()
    prompt, end_id = seen.inputs["ids"][0].tolist(), seen.inputs["end_id"]
    if got[: len(prompt)] == prompt != want[: len(prompt)]:
        return "The prompt is returned too. Return the new tokens only."
    if got == want[:-1]:
        kept = " `end_id` is part of the result." if want[-1] == end_id else ""
        return f"The last token is missing.{kept}"
    if got[: len(want)] == want:
        return "There are more tokens than there should be. When does the loop end?"
    place = next((n for n, pair in enumerate(zip(got, want, strict=False)) if len({*pair}) > 1), len(got))
    if place == len(got):
        return "There are fewer tokens than there should be. When does the loop end?"
    if place == 0:
        return "The first new token is wrong: it follows from the logits of the last position of the prompt."
    return f"New token {place} is wrong. Does `past` hold each of the tokens before it, once?"


def _write(
    d: Draw, max_new: int, *, length: int = 5, end: int = NEVER, end_id: int = 2, kind: type[Write] = Write,
    prompt_end: int | None = None, **fields: Any,
) -> Write:
    """Continue a prompt that holds `end_id` at place `prompt_end`; the model writes it after `end` tokens."""
    ids = d.integers(FIRST_WORD + 1, VOCABULARY, 1, length)
    if prompt_end is not None:
        ids[0, prompt_end] = end_id
    return kind(d.integer(2, 9), ids, max_new, end, end_id, **fields)


def _example(ids: list[int], max_new: int, end_id: int, **fields: Any) -> Operation:
    return WriteExample(("a small model", torch.tensor([ids]), max_new, "the likeliest", end_id), **fields)


exercise = ExerciseChecks(
    reference=reference.generate, judge=matches_reference(_first_wrong, any_form=True),
    examples=[
        example(lambda _: _example([7, 5], 4, 0),
                shown="generate(model, ids, 4, likeliest, 0)  # each token is the sum of those before it"),
        example(lambda _: _example([4, 3, 1, 4], 6, 4, step=1, train=False),
                shown="generate(model, ids, 6, one_more, 4)  # one_more adds 1 to the sum"),
        example(lambda _: _example([1, 2], 3, 9, fails=True),
                shown="generate(model, ids, 3, choose, 9)  # choose raises an exception"),
    ], checks=[
    Check("never-ends", "without `end_id`, there are max_new new tokens",
          lambda d: _write(d, 7), weight=2),
    Check("ends", "the text stops after `end_id`, which is kept", lambda d: _write(d, 9, end=3), weight=1.5),
    Check("ends-at-once", "the first new token is `end_id`", lambda d: _write(d, 6, end=0), weight=0.5),
    Check("just-in-time", "the last token that max_new allows is `end_id`",
          lambda d: _write(d, 5, end=4), weight=0.5),
    Check("one-token", "max_new is 1", lambda d: _write(d, 1), weight=0.5,
          separates=["last-of-the-prompt-twice"]),
    Check("other-end", "another id ends the text", lambda d: _write(d, 8, end=2, end_id=0), weight=0.5),
    Check("end-in-the-prompt", "the prompt may contain `end_id`",
          lambda d: _write(d, 6, end=4, prompt_end=1)),
    Check("prompt-ends-in-end", "the prompt may end with `end_id`",
          lambda d: _write(d, 6, end=4, prompt_end=-1), weight=0.5),
    Check("one-word-prompt", "a prompt of one token", lambda d: _write(d, 4, length=1), weight=0.5,
          separates=["past-of-the-prompt", "newest-first"]),
    Check("choose-decides", "each token is the one that `choose` returns",
          lambda d: _write(d, 6, rank=1),
          separates=["past-of-the-prompt", "first-position", "position-before-the-last", "newest-first"]),
    Check("calls", "the prompt goes through the model once, then each new token alone; no gradients",
          lambda d: _write(d, 6, kind=WriteFacts, train=True), facts(FACTS), weight=2),
    Check("calls-until-the-end", "the same for a text that ends, from eval mode, which stays",
          lambda d: _write(d, 9, end=4, kind=WriteFacts, rank=1), facts(FACTS)),
    Check("choose-raises", "if `choose` raises an exception, it reaches the caller, and the mode is restored",
          lambda d: _write(d, 6, kind=FailingWrite, train=True, where="choose"), facts(RAISED), weight=0.5),
    Check("model-raises", "if the model raises an exception, it reaches the caller, and the mode is restored",
          lambda d: _write(d, 6, kind=FailingWrite, train=True, where="model"), facts(RAISED), weight=0.5),
    arguments(lambda d: _write(d, 4), _first_wrong, names=["ids"], any_form=True,
              separates=["past-of-the-prompt", "newest-first", "prompt-changed"]),
    *properties(lambda d: _write(d, 5, end=3),
                sizes=lambda d: [_write(d, 1, length=1, end=0), _write(d, 40, length=60)]),
])
