"""Lesson 04, multi-head attention."""
