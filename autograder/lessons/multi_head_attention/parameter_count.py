from autograder.judge.table import (
    Check, Comparison, ExerciseChecks, call, example, matches_reference, properties,
)
from autograder.lessons.multi_head_attention import reference


def _what_is_counted(seen: Comparison) -> str | None:
    count, right, d_model = seen.got.value, seen.expected.value, seen.inputs["args"][0]
    if count < 4 * d_model**2:
        return (
            "The count is smaller than the number of weights, even without any bias. How many linear "
            "layers are there, and how wide are they?"
        )
    if count < right:
        return "The count is too small, though it is large enough for all the weights. Which bias is missing?"
    return (
        "The count is too large. Print the shapes of the layer's parameters, for two heads and for three: "
        "what changes?"
    )


exercise = ExerciseChecks(reference=reference.parameter_count, judge=matches_reference(_what_is_counted),
    examples=[
        example(lambda _: call(2, 1)),
        example(lambda _: call(6, 3)),
    ], checks=[
    Check("small", "a small layer with two heads", lambda _: call(6, 2)),
    Check("paper", "the layer of the paper: width 512, eight heads", lambda _: call(512, 8)),
    Check("one-head", "a single head", lambda _: call(9, 1)),
    Check("many-heads", "as many heads as features", lambda _: call(14, 14)),
    *properties(lambda _: call(8, 2), strided=False, sizes=lambda _: [call(1, 1), call(4096, 32)]),
])
