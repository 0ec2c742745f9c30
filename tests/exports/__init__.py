"""Tests of the files for other systems."""
