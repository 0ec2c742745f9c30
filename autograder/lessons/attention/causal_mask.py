from autograder.judge import masks
from autograder.judge.table import Check, ExerciseChecks, call, example, matches_reference, properties
from coursework import stand_ins

exercise = ExerciseChecks(reference=stand_ins.causal_mask, judge=matches_reference(masks.about_mask),
    examples=[
        example(lambda _: call(4), "mask"),
        example(lambda _: call(2), "mask"),
    ], checks=[
    Check("six", "each position sees itself and the positions before it", lambda _: call(6)),
    Check("any-size", "it has the requested size", lambda d: call(d.integer(7, 15))),
    Check("one", "a single position sees itself", lambda _: call(1), weight=0.5),
    *properties(lambda _: call(5), strided=False, sizes=lambda d: [call(1), call(d.integer(257, 300))]),
])
