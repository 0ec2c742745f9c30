from autograder.judge.table import (
    Check, ExerciseChecks, arguments, call, example, function_gradients, gradients_match, learns_too,
    properties,
)
from autograder.lessons.attention import reference

exercise = ExerciseChecks(reference=reference.attention_scores, examples=[
        example(lambda d: call(d.normal(2, 5), d.normal(4, 5))),  # √5 is not 1, nor 2
        example(lambda d: call(d.normal(2, 1, 2), d.normal(2, 3, 2))),
        example(lambda d: function_gradients(d.normal(2, 3), d.normal(3, 3), cotangent=d.normal(2, 3)),
                shown="attention_scores(q, k), with gradients"),
    ], checks=[
    learns_too(Check("cross", "five queries and seven keys",
                     lambda d: call(d.normal(2, 5, 16), d.normal(2, 7, 16)), weight=2),
               lambda d: function_gradients(d.normal(2, 5, 16), d.normal(2, 7, 16),
                                            cotangent=d.normal(2, 5, 7)), ["q", "k"]),
    learns_too(Check("square", "equal sizes everywhere: rows belong to queries, columns to keys",
                     lambda d: call(d.normal(6, 6, 6), d.normal(6, 6, 6))),
               lambda d: function_gradients(d.normal(6, 6, 6), d.normal(6, 6, 6),
                                            cotangent=d.normal(6, 6, 6)), ["q", "k"]),
    learns_too(Check("leading-dimensions", "several batch dimensions (here batch and heads) may come first",
                     lambda d: call(d.normal(2, 3, 5, 8), d.normal(2, 3, 4, 8))),
               lambda d: function_gradients(d.normal(2, 3, 5, 8), d.normal(2, 3, 4, 8),
                                            cotangent=d.normal(2, 3, 5, 4)), ["q", "k"]),
    Check("no-batch", "it works without a batch", lambda d: call(d.normal(3, 32), d.normal(5, 32))),
    Check("single", "a single query and a single key, in float64",
          lambda d: call(d.normal(3, 1, 5).double(), d.normal(3, 1, 5).double())),
    Check("learns", "gradients flow back to q and k",
          lambda d: function_gradients(d.normal(2, 4, 9), d.normal(2, 6, 9), cotangent=d.normal(2, 4, 6)),
          gradients_match(["q", "k"]), weight=3),
    arguments(lambda d: call(d.normal(2, 4, 9), d.normal(2, 6, 9)), names=["q", "k"], weight=1),
    *properties(lambda d: call(d.normal(2, 4, 9), d.normal(2, 6, 9)),
                sizes=lambda d: [call(d.normal(1, 1), d.normal(1, 1)),
                                 call(d.normal(2, 40, 64), d.normal(2, 50, 64)),
                                 call(d.normal(3, 512), d.normal(4, 512)),
                                 call(d.normal(2, 1, 3, 2, 5, 6), d.normal(2, 1, 3, 2, 4, 6))]),
])
