import torch

from autograder.judge.table import (
    Check, Comparison, Draw, ExerciseChecks, arguments, call, example, matches_reference, properties,
    shape_difference,
)
from autograder.lessons.transformer import reference

BOTH = ("inputs", "targets")


def _about_windows(seen: Comparison) -> str | None:
    got, want = seen.got.value, seen.expected.value
    if isinstance(got, torch.Tensor) or len(got) != len(want):
        return "Return two tensors, the inputs and the targets."
    for name, mine, right in zip(BOTH, got, want, strict=True):
        if mine.dtype == right.dtype and (said := _about_one(mine, right)):
            return f"The {name} {said}"
    return None


def _about_one(mine: torch.Tensor, right: torch.Tensor) -> str | None:
    """Say how inputs or targets (W, length) differ, to follow "The inputs"."""
    if mine.dim() != 2 or mine.size(1) != right.size(1):
        return f"should have shape (W, length). Yours have {shape_difference(mine.shape, right.shape)}."
    if len(mine) != len(right):
        many = "many" if len(mine) > len(right) else "few"
        return f"have too {many} windows for this text. How many have room for all their targets?"
    wrong = (mine != right).nonzero().tolist()
    if not wrong:
        return None
    first, place = wrong[0]
    if {column for _, column in wrong} == {right.size(1) - 1} and right.size(1) > 1:
        return "are right except for the last one in a window."
    if first:
        return f"are wrong from window {first} on. Where does that window begin in the text?"
    return f"are wrong from position {place} of window 0 on." if place else "are wrong from window 0 on."


def _text(draw: Draw, size: int) -> torch.Tensor:
    """Return ids (size,), all of them different and no two of them one apart."""
    return 3 * torch.tensor(draw.different(size, 2, 40), dtype=torch.long)


exercise = ExerciseChecks(
    reference=reference.language_windows, judge=matches_reference(_about_windows, any_form=True),
    examples=[
        example(lambda _: call(torch.tensor([5, 8, 4, 9, 7, 6, 3, 2]), 3)),
        example(lambda _: call(torch.tensor([5, 8, 4, 9, 7]), 2)),
        example(lambda _: call(torch.tensor([5, 8, 4]), 3)),
    ], checks=[
    Check("with-rest", "three windows, and remaining tokens that are dropped",
          lambda d: call(_text(d, 18), 5), weight=2),
    Check("exact", "three windows that fit exactly", lambda d: call(_text(d, 13), 4)),
    Check("one-short", "as many ids as two windows: the last one lacks a target",
          lambda d: call(_text(d, 12), length=6)),
    Check("single", "windows of one token", lambda d: call(_text(d, 5), 1), weight=0.5),
    Check("too-short", "a text too short for one window gives (0, length)", lambda d: call(_text(d, 4), 4)),
    Check("empty", "an empty text gives (0, length)",
          lambda _: call(torch.zeros(0, dtype=torch.long), 3), weight=0.5),
    arguments(lambda d: call(_text(d, 11), 3), _about_windows, names=["ids"], any_form=True),
    *properties(lambda d: call(_text(d, 11), 3),
                sizes=lambda d: [call(_text(d, 2), 1), call(d.integers(4, 90, 3000), 70)]),
])
