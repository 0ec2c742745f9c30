"""One attempt into nbgrader's gradebook, whole or not at all.

It leaves the rows as nbgrader's own Autograde and SaveAutoGrades would, but in one transaction and
from the report instead of from outputs.
"""

from dataclasses import dataclass
from datetime import datetime

from nbgrader.api import (
    Assignment,
    Comment,
    Grade,
    Gradebook,
    Notebook,
    Student,
    SubmittedAssignment,
    SubmittedNotebook,
)

from autograder.errors import CourseError
from autograder.record.attempts import Attempt
from autograder.record.pages import exercise_of
from autograder.results import ExerciseReport, Outcome

NO_RESPONSE = "No response."  # nbgrader's own words for an answer left as it was


@dataclass(frozen=True)
class Superseded:
    """A mark given by hand to an answer that has since been replaced, and so is taken back."""

    exercise: str
    score: float

    def __str__(self) -> str:
        """Say what happened, for whoever runs the marking."""
        return (
            f"{self.exercise}: the mark given by hand, {self.score:g}, was for an earlier "
            "answer and is taken back"
        )


def record(
    book: Gradebook, attempt: Attempt, *, previous: Attempt | None, handed_in: datetime | None
) -> list[Superseded]:
    """Write the attempt as the student's one submission; the marks of older ones are replaced.

    `previous` is the attempt the gradebook holds now; `handed_in` is the time in timestamp.txt,
    in UTC. A mark given by hand stays, flagged for review as nbgrader does, as long as the answer
    is the same. Raises CourseError if the gradebook knows another state of the lesson.
    """
    try:
        submitted = _submitted(book, attempt, handed_in)
        submitted.late_submission_penalty = None  # whoever records works out that of this attempt
        taken_back = _write_grades(book, submitted, attempt, previous)
        _write_comments(book, submitted, attempt)
        book.db.commit()
    except BaseException:
        book.db.rollback()
        raise
    return taken_back


def _submitted(book: Gradebook, attempt: Attempt, handed_in: datetime | None) -> SubmittedNotebook:
    """Return the student's notebook row, made where it is not there yet."""
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
    if handed_in is not None:
        submission.timestamp = handed_in
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
) -> list[Superseded]:
    reports = {report.id: report for report in attempt.report.exercises}
    rows = {row.cell_id: row for row in submitted.grades}
    taken_back = []
    for cell in submitted.notebook.grade_cells:
        exercise = exercise_of(cell.name)
        if exercise not in reports:
            raise CourseError(_another_lesson(attempt.lesson, cell.name))
        grade = rows.get(cell.id) or Grade(cell=cell, notebook=submitted)
        if _replaced(exercise, attempt, previous):
            taken_back += _take_back(grade, submitted, exercise)
        grade.auto_score = reports[exercise].score
        grade.needs_manual_grade = grade.manual_score is not None or grade.auto_score is None
        book.db.add(grade)
    return taken_back


def _replaced(exercise: str, attempt: Attempt, previous: Attempt | None) -> bool:
    """Whether the exercise had another answer in the attempt that the gradebook holds."""
    if previous is None:
        return False
    return previous.answers.get(exercise) != attempt.answers.get(exercise)


def _take_back(grade: Grade, submitted: SubmittedNotebook, exercise: str) -> list[Superseded]:
    """Clear what a person gave and wrote for the earlier answer."""
    old = grade.manual_score
    grade.manual_score = grade.extra_credit = None
    for comment in submitted.comments:
        if comment.cell.name == exercise:
            comment.manual_comment = None
    return [] if old is None else [Superseded(exercise, old)]


def _write_comments(book: Gradebook, submitted: SubmittedNotebook, attempt: Attempt) -> None:
    reports = {report.id: report for report in attempt.report.exercises}
    rows = {row.cell_id: row for row in submitted.comments}
    for cell in submitted.notebook.solution_cells:
        comment = rows.get(cell.id) or Comment(cell=cell, notebook=submitted)
        comment.auto_comment = _comment(reports.get(exercise_of(cell.name)))
        book.db.add(comment)


def _comment(report: ExerciseReport | None) -> str | None:
    """Return nbgrader's comment for an answer left as the skeleton; None for any other."""
    if report is None or report.outcome not in (Outcome.UNANSWERED, Outcome.MISSING):
        return None
    return NO_RESPONSE


def _another_lesson(lesson: str, cell: str) -> str:
    return (
        f"the gradebook knows a cell '{cell}' that lesson '{lesson}' does not have: its cells "
        "changed after it was released; mark with the notebook that was released"
    )
