"""What the gradebook says about one student: scores, comments, and points taken off for lateness."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from nbgrader.api import (
    Assignment,
    BaseCell,
    Comment,
    Grade,
    Gradebook,
    SubmittedAssignment,
    SubmittedNotebook,
)
from sqlalchemy.orm import Query

from autograder.storage.gradebook import NO_RESPONSE, cell_rows
from autograder.submissions.nbgrader_cells import exercise_of


@dataclass
class LessonGrades:
    """The scores and comments of one lesson, by exercise; None is a score that is still to be given."""

    scores: dict[str, float | None] = field(default_factory=dict)
    comments: dict[str, str] = field(default_factory=dict)
    late_penalty: float = 0.0


def student_grades(book: Gradebook, student: str) -> Mapping[str, LessonGrades]:
    """Return what the gradebook says about a student, by lesson."""
    found: dict[str, LessonGrades] = {}
    late = SubmittedNotebook.late_submission_penalty
    for lesson, cell, score, automatic, by_hand, penalty in _cells(
        book, Grade, student, Grade.score, Grade.auto_score, Grade.manual_score, late
    ):
        grades = found.setdefault(lesson, LessonGrades(late_penalty=penalty or 0.0))
        given = automatic is not None or by_hand is not None
        grades.scores[exercise_of(cell)] = score if given else None
    for lesson, cell, said in _cells(book, Comment, student, Comment.manual_comment):
        if said and said != NO_RESPONSE:
            found.setdefault(lesson, LessonGrades()).comments[exercise_of(cell)] = said
    return found


def _cells(book: Gradebook, kind: Any, student: str, *columns: object) -> Query:
    """Return the rows of grades or comments of a student: the lesson, the cell's name, the columns."""
    rows = cell_rows(book, kind, Assignment.name, BaseCell.name, *columns)
    return rows.filter(SubmittedAssignment.student_id == student)
