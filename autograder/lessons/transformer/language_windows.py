"""Checks of `language_windows`."""

import torch

from autograder.judge.authoring import Check, Draw, ExerciseChecks, call
from autograder.judge.judges import no_side_effects
from autograder.judge.properties import properties
from autograder.lessons.transformer import reference


def _text(draw: Draw, size: int) -> torch.Tensor:
    """Return ids (size,), all of them different."""
    return torch.tensor(draw.different(size, 4, 90), dtype=torch.long)


exercise = ExerciseChecks(reference=reference.language_windows, checks=[
    Check("with-rest", "three windows, and a rest that is dropped",
          lambda d: call(_text(d, 18), 5), weight=2),
    Check("exact", "three windows that just fit", lambda d: call(_text(d, 13), 4)),
    Check("one-short", "as many ids as two windows: the last has no target left",
          lambda d: call(_text(d, 12), length=6)),
    Check("single", "windows of one token", lambda d: call(_text(d, 5), 1), weight=0.5),
    Check("too-short", "a text too short for one window gives (0, length)", lambda d: call(_text(d, 4), 4)),
    Check("empty", "an empty text gives (0, length)",
          lambda _: call(torch.zeros(0, dtype=torch.long), 3), weight=0.5),
    Check("arguments", "the text stays as it was",
          lambda d: call(_text(d, 11), 3), no_side_effects(names=["ids"]), 0.5),
    *properties(lambda d: call(_text(d, 11), 3),
                sizes=lambda d: [call(_text(d, 2), 1), call(d.integers(4, 90, 3000), 70)]),
])
