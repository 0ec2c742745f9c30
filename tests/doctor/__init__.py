"""Tests of the checks of the machine."""
