"""Checks the machine: what grading and lessons need, whether it is there, and what to do if not."""
