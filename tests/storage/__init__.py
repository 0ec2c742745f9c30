"""Tests of where results are kept."""
