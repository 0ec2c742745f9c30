"""Lesson 03, attention."""
