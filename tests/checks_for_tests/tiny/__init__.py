"""Checks of the tiny lesson, which is built to be graded in tests."""
