"""Tests of the plain data."""
