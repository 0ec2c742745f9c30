"""The index lists every lesson and attempt of a student, and what changed in between."""

from pathlib import Path

from autograder.model.course import Course
from autograder.reports.student_index import student_index
from autograder.storage.gradebook import LessonGrades

from .hostile import Tags
from .sample_class import LESSON
from .sample_work import EMPTY, MIDDLING, PERFECT, UNREADABLE, attempt

COURSE = Course(Path(__file__).parents[2])


def page(grades: dict[str, LessonGrades], **lessons: list[object]) -> Tags:
    """Return the index of a student."""
    return Tags(student_index(COURSE, "a<b", lessons, grades))


def test_lessons_attempts_and_differences_are_listed() -> None:
    """The newest attempt first, with the exercises whose scores changed."""
    made = {LESSON: [attempt(EMPTY, "a"), attempt(MIDDLING, "b", 2), attempt(PERFECT, "c", 3)]}
    shown = page({}, **made)
    said = " ".join(shown.text.split())
    assert shown.links == [f"{LESSON}/{LESSON}.html"]
    to_fix = page({}, **{LESSON: made[LESSON][:2]}).links[1:]
    assert to_fix == [f"{LESSON}/{LESSON}.html#exercise-{name}" for name in ("softmax", "causal-mask", "padding-mask")]
    assert said.index("Attempt 3") < said.index("Attempt 2") < said.index("Attempt 1")
    assert "graded on 3 March 2026: 8 of 8 points graded, 2 pending" in said
    assert "0.5 → 2" in said
    assert "3 · Attention" in said


def test_the_newest_score_is_the_gradebooks() -> None:
    """With scores given by hand, and less what was taken off for lateness."""
    grades = {LESSON: LessonGrades(scores={"why": 1.5}, late_penalty=0.5)}
    said = " ".join(page(grades, **{LESSON: [attempt(PERFECT, "a")]}).text.split())
    assert "9 of 10 points so far, in 1 lesson." in said
    assert "Attempt 1," not in said  # the table says all there is to say of one attempt


def test_a_lesson_that_was_not_graded_is_told_and_not_counted() -> None:
    """An unreadable file is no zero."""
    shown = page({}, **{LESSON: [attempt(UNREADABLE, "a")], "04_x": [attempt(PERFECT, "b")]})
    said = " ".join(shown.text.split())
    assert "8 of 8 points graded, 2 pending so far, in 2 lessons." in said
    assert "unreadable" in said


def test_names_are_escaped() -> None:
    """A name is text, wherever it stands."""
    assert "All lessons of a<b" in page({}, **{LESSON: [attempt(PERFECT, "a")]}).text
