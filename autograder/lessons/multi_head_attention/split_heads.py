"""Checks of `split_heads`."""

from autograder.judge.authoring import Check, ExerciseChecks, call, function_gradients
from autograder.judge.gradients import gradients_match
from autograder.judge.judges import matches_reference, no_side_effects
from autograder.judge.properties import properties
from autograder.lessons.multi_head_attention import reference
from autograder.lessons.multi_head_attention.explainers import misplaced

exercise = ExerciseChecks(reference=reference.split_heads, judge=matches_reference(misplaced), checks=[
    Check("own-features", "each head gets its own features of every token",
          lambda d: call(d.normal(2, 5, 12), 3), weight=2),
    Check("square", "equal sizes everywhere: no two dimensions are swapped",
          lambda d: call(d.normal(3, 3, 9), 3)),
    Check("one-head", "a single head, in float64, with the argument left unchanged",
          lambda d: call(d.normal(2, 4, 6).double(), 1), no_side_effects(misplaced, names=["x"])),
    Check("one-token", "a single token, in heads of width one",
          lambda d: call(d.normal(2, 1, 5), 5), weight=0.5),
    Check("learns", "gradients flow back to x",
          lambda d: function_gradients(d.normal(2, 3, 8), 2, cotangent=d.normal(2, 2, 3, 4)),
          gradients_match(["x"], output=matches_reference(misplaced)), weight=0.5),
    *properties(lambda d: call(d.normal(2, 5, 12), 3), judge=matches_reference(misplaced),
                sizes=lambda d: [call(d.normal(1, 1, 1), 1), call(d.normal(3, 40, 96), 12)]),
])
