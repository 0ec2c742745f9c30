"""Lesson 08, attention visualisation."""
