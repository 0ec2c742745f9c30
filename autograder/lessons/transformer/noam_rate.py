"""Checks of `noam_rate`."""

import math

from autograder.judge.authoring import Check, Comparison, ExerciseChecks
from autograder.judge.judges import PASSED, failed, matches_reference
from autograder.judge.properties import defaults, properties
from autograder.lessons.transformer import reference
from autograder.lessons.transformer.fixtures import Rate
from autograder.model.exercise import Verdict


def _any_finite_number(seen: Comparison) -> Verdict:
    """Judge step 0, at which the formula says nothing."""
    given = seen.got.value
    if isinstance(given, bool) or not isinstance(given, (int, float)):
        return matches_reference()(seen)
    return PASSED if math.isfinite(given) else failed("Step 0 should give a finite number.")


CLOSELY = matches_reference(atol=1e-6, rtol=1e-5)

exercise = ExerciseChecks(reference=reference.noam_rate, judge=CLOSELY, checks=[
    Check("rising", "the rise, with the default warm-up", lambda _: Rate([700, 512])),
    Check("peak", "the peak", lambda _: Rate([4000, 512])),
    Check("falling", "the fall, at another width and warm-up", lambda _: Rate([3000, 96], {"warmup": 250})),
    Check("first", "the first step", lambda _: Rate([1, 256, 100])),
    Check("zero", "step 0 gives a finite number", lambda _: Rate([0, 512]), _any_finite_number),
    *properties(lambda _: Rate([30, 64]), judge=CLOSELY, strided=False,
                sizes=lambda _: [Rate([1, 1, 1]), Rate([10**6, 4096])]),
    defaults(lambda _: [Rate([30, 64]), Rate([5000, 64])], warmup=(4000, 100)),
])
