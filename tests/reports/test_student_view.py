"""Titles come from the lesson's text, and attempts are compared with the one before."""


from pathlib import Path

from tiny_course import LESSON

from autograder.model.course import Course
from autograder.model.report import Outcome
from autograder.reports.student_view import changes, steps, titles

from .sample_class import report
from .sample_work import EMPTY, MIDDLING, PERFECT, UNREADABLE, attempt, done


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


def test_the_same_file_graded_again_is_one_attempt() -> None:
    """The newest of its gradings counts; the same file later is an attempt of its own."""
    made = steps([attempt(EMPTY, "a"), attempt(MIDDLING, "a"), attempt(PERFECT, "b"), attempt(MIDDLING, "a")])
    assert [step.number for step in made] == [1, 2, 3]
    assert [step.attempt.report for step in made] == [MIDDLING, PERFECT, MIDDLING]
    assert made[0].changes == []


def test_only_scores_that_differ_are_told_in_the_lessons_order() -> None:
    """Up, down, and pending."""
    before = report([done("softmax", Outcome.FAILED, 1.5), done("causal-mask", Outcome.PASSED, 2)])
    after = report([done("softmax", Outcome.PASSED, 2), done("causal-mask", Outcome.GRADER_FAULT, None)])
    up, pending = changes(before, after)
    assert (str(up), up.went_up) == ("1.5 → 2", True)
    assert (str(pending), pending.went_up) == ("2 → pending", False)
    assert changes(after, after) == []


def test_a_file_that_could_not_be_opened_lost_no_points() -> None:
    """Neither before it nor after it is a difference told."""
    assert changes(PERFECT, UNREADABLE) == []
    assert changes(UNREADABLE, PERFECT) == []
    assert changes(None, PERFECT) == []
