"""The small lesson, for every test here."""

from lesson_fixtures import built, built_once, course, lesson

__all__ = ["built", "built_once", "course", "lesson"]
