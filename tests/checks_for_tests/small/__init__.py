"""Checks of the small lesson that the tests build."""
