"""Checks of `answers`."""

from autograder.judge.authoring import ExerciseChecks, entry
from autograder.judge.judges import choice

exercise = ExerciseChecks(checks=[entry("two", "what comes after one", choice("2", {"3": "Too far."}))])
