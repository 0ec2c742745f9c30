from autograder.judge.table import Check, ExerciseChecks, call, example, matches_reference, properties
from autograder.lessons.positional_encoding import judges, reference

LOOSELY = judges.any_float(matches_reference(judges.wrong_pair, atol=judges.LOOSE))

exercise = ExerciseChecks(reference=reference.sinusoidal_encoding, judge=judges.table_judge,
    examples=[
        example(lambda _: call(5, 4), "curves"),
        example(lambda _: call(2, 6), "curves"),
        example(lambda _: call(3, 5)),
    ], checks=[
    Check("first-positions", "sine and cosine alternate", lambda _: call(7, 6), weight=2),
    Check("later-pairs", "the waves get slower from pair to pair, by the right factor",
          lambda d: call(d.integer(33, 48), 2 * d.integer(24, 40)), weight=2),
    Check("wide", "more columns than positions", lambda d: call(5, 2 * d.integer(30, 60))),
    Check("long-text", "a long text: 300 positions", lambda _: call(300, 32), LOOSELY),
    Check("one-pair", "a single pair of columns", lambda _: call(9, 2), weight=0.5),
    Check("one-position", "a single position", lambda _: call(1, 10), weight=0.5),
    Check("dtype", "the table is float32", lambda _: call(4, 8), judges.is_float32, weight=0.5),
    Check("odd-width", "an odd d_model is refused with a ValueError",
          lambda _: call(6, 7), weight=0.75, raises="ValueError"),
    Check("width-one", "a d_model of 1 is refused with a ValueError",
          lambda _: call(3, 1), weight=0.25, raises="ValueError"),
    *properties(lambda _: call(6, 8), judge=LOOSELY, strided=False,
                sizes=lambda _: [call(1, 2), call(200, 96), call(600, 2)]),
])
