"""Writes one attempt into nbgrader's gradebook, whole or not at all.

The rows end up as nbgrader's own Autograde and SaveAutoGrades would leave them, but they are
written in one transaction and from the report instead of from outputs.
"""

from dataclasses import dataclass
from datetime import datetime

from nbgrader.api import (
    Assignment,
    BaseCell,
    Comment,
    Grade,
    Gradebook,
    Notebook,
    Student,
    SubmittedAssignment,
    SubmittedNotebook,
)
from sqlalchemy import or_

from autograder.model.errors import CourseError
from autograder.model.report import Outcome
from autograder.storage.attempts import Attempt
from autograder.submissions.nbgrader_cells import exercise_of

NO_RESPONSE = "No response."  # nbgrader's comment on an unchanged skeleton


@dataclass(frozen=True)
class Withdrawn:
    """A score that was given by hand to an answer that has since been replaced."""

    exercise: str
    score: float

    def __str__(self) -> str:
        """Say what happened, for the instructor."""
        return (
            f"{self.exercise}: the score given by hand, {self.score:g}, was for an earlier "
            "answer and was withdrawn"
        )


def write_scores(
    book: Gradebook, attempt: Attempt, *, previous: Attempt | None, submitted_at: datetime | None
) -> list[Withdrawn]:
    """Write the attempt as the student's one submission, replacing the scores of older ones.

    `previous` is the attempt that the gradebook holds now. `submitted_at` is the time in
    timestamp.txt, in UTC. A score given by hand stays while the answer is the same, and is flagged
    for review as nbgrader does. Raises CourseError if the gradebook knows another version of the
    lesson.
    """
    try:
        submitted = _submitted(book, attempt, submitted_at)
        submitted.late_submission_penalty = None  # the caller applies the one for this attempt
        withdrawn = _write_grades(book, submitted, attempt, previous)
        _write_comments(book, submitted, attempt)
        book.db.commit()
    except BaseException:
        book.db.rollback()
        raise
    return withdrawn


def scores_by_hand(book: Gradebook, lesson: str) -> dict[str, dict[str, float]]:
    """Return the scores of a lesson that a person gave or added to, by student and exercise.

    Extra credit alone is no score: an answer without one stays pending.
    """
    rows = (
        book.db.query(SubmittedAssignment.student_id, BaseCell.name, Grade.score)
        .select_from(Grade)
        .join(BaseCell, Grade.cell_id == BaseCell.id)
        .join(SubmittedNotebook, Grade.notebook_id == SubmittedNotebook.id)
        .join(SubmittedAssignment, SubmittedNotebook.assignment_id == SubmittedAssignment.id)
        .join(Assignment, SubmittedAssignment.assignment_id == Assignment.id)
        .filter(Assignment.name == lesson)
        .filter(or_(Grade.manual_score.is_not(None), Grade.auto_score.is_not(None)))
        .filter(or_(Grade.manual_score.is_not(None), Grade.extra_credit.is_not(None)))
    )
    found: dict[str, dict[str, float]] = {}
    for student, cell, score in rows:
        found.setdefault(student, {})[exercise_of(cell)] = score
    return found


def _submitted(
    book: Gradebook, attempt: Attempt, submitted_at: datetime | None
) -> SubmittedNotebook:
    """Return the row of the student's notebook; add it if it isn't there yet."""
    master, session = _master(book, attempt.lesson), book.db
    student = session.get(Student, attempt.student) or Student(id=attempt.student)
    session.add(student)
    submission = (
        session.query(SubmittedAssignment)
        .filter_by(assignment_id=master.assignment_id, student_id=attempt.student)
        .one_or_none()
    )
    if submission is None:
        submission = SubmittedAssignment(assignment=master.assignment, student=student)
        session.add(submission)
    if submitted_at is not None:
        submission.timestamp = submitted_at
    for row in submission.notebooks:
        if row.notebook_id == master.id:
            return row
    fresh = SubmittedNotebook(notebook=master, assignment=submission)
    session.add(fresh)
    return fresh


def _master(book: Gradebook, lesson: str) -> Notebook:
    master = (
        book.db.query(Notebook)
        .join(Assignment)
        .filter(Assignment.name == lesson, Notebook.name == lesson)
        .one_or_none()
    )
    if master is None:
        raise CourseError(
            f"the gradebook does not know lesson '{lesson}': run 'autograder build {lesson}' "
            f"and 'nbgrader generate_assignment {lesson} --force'"
        )
    return master


def _write_grades(
    book: Gradebook, submitted: SubmittedNotebook, attempt: Attempt, previous: Attempt | None
) -> list[Withdrawn]:
    reports = {report.id: report for report in attempt.report.exercises}
    rows = {row.cell_id: row for row in submitted.grades}
    withdrawn = []
    for cell in submitted.notebook.grade_cells:
        exercise = exercise_of(cell.name)
        if exercise not in reports:
            raise CourseError(
                f"the gradebook has a cell '{cell.name}' that lesson '{attempt.lesson}' does not "
                "have: the lesson changed after its release; grade with the released notebook"
            )
        grade = rows.get(cell.id) or Grade(cell=cell, notebook=submitted)
        if previous and previous.answers.get(exercise) != attempt.answers.get(exercise):
            withdrawn += _withdraw(grade, submitted, exercise)
        grade.auto_score = reports[exercise].score
        grade.needs_manual_grade = grade.manual_score is not None or grade.auto_score is None
        book.db.add(grade)
    return withdrawn


def _withdraw(grade: Grade, submitted: SubmittedNotebook, exercise: str) -> list[Withdrawn]:
    """Clear the score and the comment that were given by hand to the earlier answer."""
    old = grade.manual_score
    grade.manual_score = grade.extra_credit = None
    for comment in submitted.comments:
        if comment.cell.name == exercise:
            comment.manual_comment = None
    return [] if old is None else [Withdrawn(exercise, old)]


def _write_comments(book: Gradebook, submitted: SubmittedNotebook, attempt: Attempt) -> None:
    reports = {report.id: report for report in attempt.report.exercises}
    rows = {row.cell_id: row for row in submitted.comments}
    for cell in submitted.notebook.solution_cells:
        comment = rows.get(cell.id) or Comment(cell=cell, notebook=submitted)
        report = reports.get(exercise_of(cell.name))
        blank = report is not None and report.outcome in (Outcome.UNANSWERED, Outcome.MISSING)
        comment.auto_comment = NO_RESPONSE if blank else None
        book.db.add(comment)
