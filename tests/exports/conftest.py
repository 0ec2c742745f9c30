"""A graded class of five, one of them late, with the tiny course; and what exports make of it."""

import datetime as dt
from pathlib import Path

import pytest
from nbgrader.api import Gradebook
from tiny_course import LESSON, RIGHT, hand_in
from tiny_fixtures import book, built, course, grades, record, same_grader

from autograder.exports.class_scores import ClassScores, class_scores
from autograder.model.course import CONFIG, Course
from autograder.reports import feedback_exporter
from autograder.submissions.submission import TIMESTAMP

__all__ = ["book", "built", "course", "grades", "same_grader"]
DUE = dt.datetime(2026, 3, 1, 12)
PENALTY = """
from nbgrader.plugins import BasePlugin


class TwoPoints(BasePlugin):
    def late_submission_penalty(self, student_id, score, total_seconds_late):
        return 2.0


c.AssignLatePenalties.plugin_class = TwoPoints
"""


@pytest.fixture
def graded(course: Course) -> Course:
    """Ada and Bo have everything graded, Bo a day late; Cyd's text is pending; Di's file is broken.

    Eve is on the class list and handed in nothing. Two points are taken off for lateness.
    """
    with (course.root / CONFIG).open("a") as config:
        config.write(PENALTY)
    with Gradebook(f"sqlite:///{course.gradebook}", "transformer") as opened:
        opened.update_or_create_assignment(LESSON, duedate=DUE)
        opened.add_student("eve", first_name="Eve", last_name="Example")
    for student, stamp in (("ada", "2026-03-01 11:00:00 UTC"), ("bo", "2026-03-02 12:00:00 UTC"), ("cyd", "")):
        folder = hand_in(course, student, **RIGHT).parent
        if stamp:
            (folder / TIMESTAMP).write_text(stamp)
    hand_in(course, "di").write_text("{")
    record(course, "ada", "bo", "cyd", "di")
    for student, points in (("ada", 2.0), ("bo", 1.5)):
        by_hand(course, student, points)
    return course


def by_hand(course: Course, student: str, points: float) -> None:
    """Grade the written answer of a student, as formgrader would."""
    with Gradebook(f"sqlite:///{course.gradebook}", "transformer") as opened:
        grade = opened.find_grade("why", LESSON, LESSON, student)
        grade.manual_score, grade.needs_manual_grade = points, False
        opened.db.commit()


@pytest.fixture
def scores(graded: Course) -> ClassScores:
    """The scores of the class."""
    return class_scores(graded)


@pytest.fixture
def with_feedback(graded: Course) -> Course:
    """The class with its feedback pages."""
    assert feedback_exporter.make_pages(graded, LESSON, ["ada", "bo", "cyd", "di"]) == {}
    return graded


@pytest.fixture
def roster_file(tmp_path: Path) -> Path:
    """A roster with a name that a spreadsheet would run."""
    path = tmp_path / "roster.csv"
    path.write_text(
        "Student ID,First name,Last name,Email,ID number\n"
        "ada,Ada,Lovelace,ada@example.edu,1001\n"
        'bo,"=HYPERLINK(""http://example.org"")",Bo,bo@example.edu,1002\n'
        "cyd,Cyd,\"O'Neill, Jr\",cyd@example.edu,1003\n"
        "zoe,Zoë,Zed,zoe@example.edu,1009\n",
        encoding="utf-8",
    )
    return path
