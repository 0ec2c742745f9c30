"""Grades what students hand in within seconds, and gives the feedback back."""
