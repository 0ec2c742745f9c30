"""Keeping what marking found: the log of attempts, nbgrader's gradebook and folders, the pages."""
