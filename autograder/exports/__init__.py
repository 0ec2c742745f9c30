"""Scores and feedback for other systems: nbgrader, Canvas, Moodle, Gradescope, and one file of all."""

AUTOGRADER = "gradescope-autograder"  # the one that is about checks, not about scores
FORMATS = ("nbgrader", "canvas", "moodle", "gradescope", "course", AUTOGRADER)
