"""Tests of `autograder written`."""
