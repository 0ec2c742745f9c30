"""Lesson 02, positional encoding."""
