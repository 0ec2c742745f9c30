from autograder.lessons.small import reference

from autograder.judge.table import Check, ExerciseChecks, call

exercise = ExerciseChecks(
    reference=reference.double,
    checks=[
        Check("whole", "a whole number is doubled", lambda d: call(d.integer(2, 9))),
        Check("fraction", "a fraction is doubled", lambda _: call(0.5)),
    ],
)
