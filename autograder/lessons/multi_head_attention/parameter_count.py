"""Checks of `parameter_count`."""

from autograder.judge.authoring import Check, ExerciseChecks, call
from autograder.judge.properties import properties
from autograder.lessons.multi_head_attention import reference

exercise = ExerciseChecks(reference=reference.parameter_count, checks=[
    Check("small", "a small layer with two heads", lambda _: call(6, 2)),
    Check("paper", "the layer of the paper: width 512, eight heads", lambda _: call(512, 8)),
    Check("one-head", "a single head", lambda _: call(9, 1)),
    Check("many-heads", "as many heads as features", lambda _: call(14, 14)),
    *properties(lambda _: call(8, 2), strided=False, sizes=lambda _: [call(1, 1), call(4096, 32)]),
])
