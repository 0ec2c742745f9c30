"""Grading: a class run, one submission, one exercise."""
