"""The tiny course, for every test here."""

from tiny_fixtures import book, built, course, grades, same_grader

__all__ = ["book", "built", "course", "grades", "same_grader"]
