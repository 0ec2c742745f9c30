from autograder.lessons.tiny import reference

from autograder.judge.table import Check, ExerciseChecks, call

exercise = ExerciseChecks(
    reference=reference.double,
    checks=[Check("number", "any number works", lambda d: call(d.integer(2, 9) + 0.5))],
)
