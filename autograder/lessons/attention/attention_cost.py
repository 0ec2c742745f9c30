from autograder.judge.table import (
    Check, Comparison, ExerciseChecks, call, example, matches_reference, properties,
)
from autograder.lessons.attention import reference


def _what_is_wrong(seen: Comparison) -> str | None:
    (products, numbers), (right, scores) = seen.got.value, seen.expected.value
    if numbers != scores and products != right:
        return "Both counts are wrong. Start with the scores: what is the shape of that tensor?"
    if numbers != scores:
        return "The multiplications are right, but the number of scores is not. What shape do they have?"
    return (
        "The number of scores is right, but the multiplications are not. How many does one entry of each "
        "product take, and how many entries does each product have?"
    )


exercise = ExerciseChecks(reference=reference.attention_cost, judge=matches_reference(_what_is_wrong),
    examples=[
        example(lambda _: call(1, 1, 2, 3, 4, 5)),
        example(lambda _: call(2, 3, 4, 6, 5, 7)),
    ], checks=[
    Check("one-head", "one head of one sample", lambda _: call(1, 1, 5, 7, 4, 3)),
    Check("batch-and-heads", "a batch, and several heads", lambda _: call(3, 2, 5, 7, 11, 13), weight=2),
    Check("paper", "the base model of the paper on 100 tokens", lambda _: call(1, 8, 100, 100, 64, 64)),
    *properties(lambda _: call(2, 3, 5, 7, 4, 6), strided=False,
                sizes=lambda _: [call(1, 1, 1, 1, 1, 1), call(16, 32, 4096, 8192, 128, 64)]),
])
