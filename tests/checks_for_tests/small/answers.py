from autograder.judge.judges import choice
from autograder.judge.table import ExerciseChecks, entry

exercise = ExerciseChecks(checks=[entry("two", "what comes after one", choice("2", {"3": "Too far."}))])
