"""Lessons and exercises are called what the lesson's text calls them."""

from pathlib import Path

from tiny_course import LESSON

from autograder.model.course import Course
from autograder.reports.titles import titles


def test_titles_are_the_texts_headings_without_the_points(course: Course) -> None:
    """Code and written exercises alike."""
    found = titles(course, LESSON)
    assert found.lesson == "A tiny lesson"
    assert found.exercises == {
        "double": "Exercise 1: double it",
        "halve": "Exercise 2: halve it",
        "why": "Exercise 3: why",
    }


def test_without_a_text_ids_stand_for_titles(tmp_path: Path) -> None:
    """A course may hold the released notebooks alone."""
    found = titles(Course(tmp_path), LESSON)
    assert found.lesson == LESSON
    assert found.exercise("double") == "`double`"


def test_every_real_exercise_has_a_title() -> None:
    """In all lessons of this course."""
    course = Course(Path(__file__).parents[2])
    for lesson in course.lessons():
        found = titles(course, lesson)
        assert " · " in found.lesson
        assert all(name.startswith(("Exercise ", "Stretch")) for name in found.exercises.values()), lesson
