"""Scores and feedback for other systems: nbgrader, Canvas, Moodle, Gradescope, and one file of all."""
