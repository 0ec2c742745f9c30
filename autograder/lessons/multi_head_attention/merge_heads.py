"""Checks of `merge_heads`."""

from autograder.judge.authoring import Check, ExerciseChecks, call, function_gradients
from autograder.judge.gradients import gradients_match
from autograder.judge.judges import matches_reference, no_side_effects
from autograder.judge.properties import properties
from autograder.lessons.multi_head_attention import reference
from autograder.lessons.multi_head_attention.explainers import misplaced

exercise = ExerciseChecks(reference=reference.merge_heads, judge=matches_reference(misplaced), checks=[
    Check("side-by-side", "the heads of each token lie side by side",
          lambda d: call(d.normal(2, 3, 5, 4)), weight=2),
    Check("square", "equal sizes everywhere: no two dimensions are swapped",
          lambda d: call(d.normal(3, 3, 3, 3))),
    Check("one-head", "a single head, in float64, with the argument left unchanged",
          lambda d: call(d.normal(2, 1, 4, 6).double()), no_side_effects(misplaced, names=["x"])),
    Check("one-token", "a single token, in heads of width one",
          lambda d: call(d.normal(2, 5, 1, 1)), weight=0.5),
    Check("learns", "gradients flow back to x",
          lambda d: function_gradients(d.normal(2, 2, 3, 4), cotangent=d.normal(2, 3, 8)),
          gradients_match(["x"], output=matches_reference(misplaced)), weight=0.5),
    *properties(lambda d: call(d.normal(2, 3, 5, 4)), judge=matches_reference(misplaced),
                sizes=lambda d: [call(d.normal(1, 1, 1, 1)), call(d.normal(3, 12, 40, 8))]),
])
