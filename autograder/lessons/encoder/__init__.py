"""Lesson 05, the encoder."""
