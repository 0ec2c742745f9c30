"""Lesson 06, the decoder."""
