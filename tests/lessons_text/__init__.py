"""Tests of the lessons' texts."""
