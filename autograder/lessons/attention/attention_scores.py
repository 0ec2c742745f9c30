"""Checks of `attention_scores`."""

from autograder.judge.authoring import Check, ExerciseChecks, call
from autograder.judge.judges import no_side_effects
from autograder.judge.properties import properties
from autograder.lessons.attention import reference

exercise = ExerciseChecks(reference=reference.attention_scores, checks=[
    Check("cross", "five queries meet seven keys",
          lambda d: call(d.normal(2, 5, 16), d.normal(2, 7, 16)), weight=2),
    Check("square", "as many queries as keys as features: nothing is exchanged",
          lambda d: call(d.normal(6, 6, 6), d.normal(6, 6, 6))),
    Check("leading-dimensions", "further leading dimensions (batch and heads) are carried along",
          lambda d: call(d.normal(2, 3, 5, 8), d.normal(2, 3, 4, 8))),
    Check("no-batch", "it works without a batch", lambda d: call(d.normal(3, 32), d.normal(5, 32))),
    Check("single", "a single query and a single key, in float64",
          lambda d: call(d.normal(3, 1, 5).double(), d.normal(3, 1, 5).double())),
    Check("arguments", "queries and keys come back unchanged",
          lambda d: call(d.normal(2, 4, 9), d.normal(2, 6, 9)), no_side_effects(names=["q", "k"])),
    *properties(lambda d: call(d.normal(2, 4, 9), d.normal(2, 6, 9)),
                sizes=lambda d: [call(d.normal(1, 1), d.normal(1, 1)),
                                 call(d.normal(2, 40, 64), d.normal(2, 50, 64))]),
])
