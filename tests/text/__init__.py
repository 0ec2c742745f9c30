"""Tests of reading a lesson's text."""
