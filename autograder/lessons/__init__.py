"""The checks and misconceptions of each lesson: one package a lesson, named as the lesson is."""

import importlib
from functools import cache

from autograder.errors import CourseError
from autograder.judge.exercise import Lesson


@cache
def load_lesson(name: str) -> Lesson:
    """Return the checks of a lesson such as '03_attention'. Raises CourseError if there are none."""
    _, _, module = name.partition("_")
    try:
        found = importlib.import_module(f"autograder.lessons.{module}")
    except ModuleNotFoundError as problem:
        if problem.name != f"autograder.lessons.{module}":
            raise
        raise CourseError(f"no checks for lesson '{name}': is its name spelt right?") from None
    lesson: Lesson = found.lesson
    return lesson
