"""Lesson 07, the Transformer."""
