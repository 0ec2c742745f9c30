"""Lessons in front of a room: slides that open from disk, and lessons to run live."""
