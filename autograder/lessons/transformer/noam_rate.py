import math
from dataclasses import dataclass
from typing import Any, ClassVar

import torch

from autograder.judge.table import (
    PASSED, CallFunction, Check, Comparison, ExerciseChecks, Verdict, defaults, example, failed,
    matches_reference, properties, through,
)
from autograder.lessons.transformer import reference


@dataclass(frozen=True)
class CallInMillionths(CallFunction):
    """Call the function and read a number in millionths, because small ones vanish in a tolerance."""

    sent_as: ClassVar = CallFunction

    def read(self, value: Any) -> Any:
        """Scale numbers and tensors."""
        known = isinstance(value, (int, float, torch.Tensor)) and not isinstance(value, bool)
        return value * 1e6 if known else value


def _any_finite_number(seen: Comparison) -> Verdict:
    """Judge step 0, at which the formula says nothing."""
    given = seen.got.value
    if isinstance(given, bool) or not isinstance(given, (int, float)):
        return matches_reference()(seen)
    return PASSED if math.isfinite(given) else failed("Step 0 should give a finite number.")


exercise = ExerciseChecks(reference=reference.noam_rate, judge=matches_reference(atol=1e-6, rtol=1e-5),
    examples=[
        example(lambda _: through("noam_rates", 4, 16, 10), "curves",
                shown="noam_rate(step, 16, warmup=10)  # steps 1 to 30"),
    ], checks=[
    Check("rising", "the rise, with the default warm-up", lambda _: CallInMillionths([700, 512])),
    Check("peak", "the peak", lambda _: CallInMillionths([4000, 512])),
    Check("falling", "the fall, at another width and warm-up",
          lambda _: CallInMillionths([3000, 96], {"warmup": 250})),
    Check("first", "the first step", lambda _: CallInMillionths([1, 256, 100])),
    Check("zero", "step 0 gives a finite number", lambda _: CallInMillionths([0, 512]), _any_finite_number),
    *properties(lambda _: CallInMillionths([30, 64]), strided=False,
                sizes=lambda _: [CallInMillionths([1, 1, 1]), CallInMillionths([10**6, 4096])]),
    defaults(lambda _: [CallInMillionths([30, 64]), CallInMillionths([5000, 64])], warmup=(4000, 100)),
])
