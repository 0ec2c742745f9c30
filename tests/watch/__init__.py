"""Tests of `autograder watch`."""
