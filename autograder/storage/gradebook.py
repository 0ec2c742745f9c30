"""nbgrader's gradebook: an attempt is written whole or not at all; scores and comments are read.

The rows end up as nbgrader's own Autograde and SaveAutoGrades would leave them, but they are
written in one transaction and from the report instead of from outputs.
"""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from nbgrader.api import (
    Assignment,
    BaseCell,
    Comment,
    Grade,
    Gradebook,
    MissingEntry,
    Notebook,
    Student,
    SubmittedAssignment,
    SubmittedNotebook,
)
from nbgrader.coursedir import CourseDirectory
from sqlalchemy import or_
from sqlalchemy.orm import Query
from tornado.log import app_log
from traitlets.config import Config

from autograder.model.attempt import Attempt
from autograder.model.course import Course
from autograder.model.errors import CourseError
from autograder.model.nbgrader_config import course_id, database_url, programs_on_path
from autograder.model.report import Outcome
from autograder.model.text import clean
from autograder.submissions.released import exercise_of

NO_RESPONSE = "No response."  # nbgrader's comment on an unchanged skeleton
LONGEST_COMMENT = 500  # characters of a comment in a message


@dataclass(frozen=True)
class Withdrawn:
    """What was given by hand to an answer that has since been replaced: a score, extra credit, a comment."""

    exercise: str
    score: float | None = None
    extra_credit: float | None = None
    comment: str = ""

    def __str__(self) -> str:
        """Say in one line what is gone, for the instructor, who may want to give it again."""
        parts = []
        if self.score is not None:
            parts.append(f"the score {self.score:g}")
        if self.extra_credit is not None:
            parts.append(f"the extra credit {self.extra_credit:g}")
        if self.comment:
            comment = " ".join(clean(self.comment, LONGEST_COMMENT).split())
            parts.append(f'the comment "{comment}"')
        were = "was" if len(parts) == 1 else "were"
        what = " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))
        return f"{self.exercise}: {what}, given by hand to an earlier answer, {were} withdrawn"


@dataclass(frozen=True)
class ByHand:
    """What a person gave an exercise: a score in the place of the grader's, extra credit, or both.

    `automatic` is the grader's own score.
    """

    score: float | None
    extra_credit: float | None
    automatic: float | None

    def added_to(self, automatic: float | None) -> float | None:
        """Return what the exercise counts with; extra credit alone is no score."""
        score = automatic if self.score is None else self.score
        return None if score is None else score + (self.extra_credit or 0.0)


@dataclass
class LessonGrades:
    """The scores and comments of one lesson, by exercise; None is a score that is still to be given."""

    scores: dict[str, float | None] = field(default_factory=dict)
    comments: dict[str, str] = field(default_factory=dict)
    late_penalty: float = 0.0


def course_directory(course: Course, lesson: str, config: Config) -> CourseDirectory:
    """Return nbgrader's view of the course, narrowed to one lesson."""
    return CourseDirectory(
        config=config, root=str(course.root), db_url=database_url(course), assignment_id=lesson
    )


def open_gradebook(course: Course) -> Gradebook:
    """Open the course's gradebook, which is made if there is none; use it in a `with`, which closes it."""
    app_log.addFilter(_is_news)  # added once, however often this is called
    with programs_on_path():
        return Gradebook(database_url(course), course_id(course))


def _is_news(record: logging.LogRecord) -> bool:
    """Return False for nbgrader's traceback of an error of its database, which it also raises."""
    return not record.getMessage().startswith("Rolling back session")


def quiet_logger() -> logging.Logger:
    """Return a logger that drops nbgrader's messages: what matters in them is raised."""
    logger = logging.getLogger("autograder.nbgrader")
    logger.disabled = True
    return logger


def write_scores(
    book: Gradebook, attempt: Attempt, *, previous: Attempt | None, submitted_at: datetime | None
) -> list[Withdrawn]:
    """Write the attempt as the student's one submission, replacing the scores of older ones.

    `previous` is the attempt that the gradebook holds now. `submitted_at` is the time in
    timestamp.txt, in UTC; without one, the submission has no time and is not late. A score given by hand
    stays while the answer is the same. It is flagged for review as nbgrader does, but only if the grader's
    own score has changed, or if `previous` is not known: a class whose written answers are graded does not
    have to be reviewed when something else is graded again. Raises CourseError if the gradebook knows another
    version of the lesson.
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


def given_by_hand(book: Gradebook, lesson: str) -> dict[str, dict[str, ByHand]]:
    """Return the scores and extra credit that a person gave in a lesson, by student and exercise."""
    scores = Grade.manual_score, Grade.extra_credit, Grade.auto_score
    found: dict[str, dict[str, ByHand]] = {}
    for student, cell, *given in _rows(
        book, Grade, SubmittedAssignment.student_id, BaseCell.name, *scores
    ).filter(
        Assignment.name == lesson, or_(Grade.manual_score.is_not(None), Grade.extra_credit.is_not(None))
    ):
        found.setdefault(student, {})[exercise_of(cell)] = ByHand(*given)
    return found


def scores_by_hand(book: Gradebook, lesson: str) -> dict[str, dict[str, float]]:
    """Return the scores of a lesson that a person gave or added to, by student and exercise.

    Extra credit alone is no score: an answer without one stays pending.
    """
    found: dict[str, dict[str, float]] = {}
    for student, given in given_by_hand(book, lesson).items():
        totals = {exercise: each.added_to(each.automatic) for exercise, each in given.items()}
        if counted := {exercise: total for exercise, total in totals.items() if total is not None}:
            found[student] = counted
    return found


def comments_by_hand(book: Gradebook, lesson: str) -> dict[str, dict[str, str]]:
    """Return the comments of a lesson that a person wrote, by student and exercise."""
    found: dict[str, dict[str, str]] = {}
    rows = _rows(book, Comment, SubmittedAssignment.student_id, BaseCell.name, Comment.manual_comment)
    for student, cell, said in rows.filter(Assignment.name == lesson):
        if said and said != NO_RESPONSE:
            found.setdefault(student, {})[exercise_of(cell)] = said
    return found


def penalised(book: Gradebook) -> set[str]:
    """Return the lessons of which points were taken off for lateness."""
    rows = (
        book.db.query(Assignment.name)
        .join(SubmittedAssignment, SubmittedAssignment.assignment_id == Assignment.id)
        .join(SubmittedNotebook, SubmittedNotebook.assignment_id == SubmittedAssignment.id)
        .filter(SubmittedNotebook.late_submission_penalty > 0)
    )
    return {name for (name,) in rows}


def give_points(book: Gradebook, lesson: str, student: str, exercise: str, score: float | None) -> None:
    """Write the score that a person gives to a written answer; None withdraws it, and the answer is pending.

    Raises CourseError if the gradebook does not have the answer.
    """
    with _known(lesson, student, exercise):
        grade = book.find_grade(exercise, lesson, lesson, student)
    grade.manual_score = score
    grade.needs_manual_grade = score is None and grade.auto_score is None
    book.db.commit()


def give_comment(book: Gradebook, lesson: str, student: str, exercise: str, comment: str) -> None:
    """Write a person's comment on a written answer; '' removes it. Raises as `give_points` does."""
    with _known(lesson, student, exercise):
        book.find_comment(exercise, lesson, lesson, student).manual_comment = comment or None
    book.db.commit()


@contextmanager
def _known(lesson: str, student: str, exercise: str) -> Iterator[None]:
    try:
        yield
    except MissingEntry as error:
        raise CourseError(
            f"the gradebook has no answer of {student} to '{exercise}': run 'autograder grade {lesson}'"
        ) from error


def student_grades(book: Gradebook, student: str) -> Mapping[str, LessonGrades]:
    """Return what the gradebook says about a student, by lesson."""
    found: dict[str, LessonGrades] = {}
    numbers = Grade.score, Grade.auto_score, Grade.manual_score, SubmittedNotebook.late_submission_penalty
    rows = _rows(book, Grade, Assignment.name, BaseCell.name, *numbers)
    for lesson, cell, score, automatic, by_hand, penalty in _of_student(rows, student):
        grades = found.setdefault(lesson, LessonGrades(late_penalty=penalty or 0.0))
        given = automatic is not None or by_hand is not None
        grades.scores[exercise_of(cell)] = score if given else None
    rows = _rows(book, Comment, Assignment.name, BaseCell.name, Comment.manual_comment)
    for lesson, cell, said in _of_student(rows, student):
        if said and said != NO_RESPONSE:
            found.setdefault(lesson, LessonGrades()).comments[exercise_of(cell)] = said
    return found


def _rows(book: Gradebook, kind: Any, *columns: object) -> Query:
    """Return columns of all grades or comments, joined with their cells, submissions and lessons."""
    return (
        book.db.query(*columns)
        .select_from(kind)
        .join(BaseCell, kind.cell_id == BaseCell.id)
        .join(SubmittedNotebook, kind.notebook_id == SubmittedNotebook.id)
        .join(SubmittedAssignment, SubmittedNotebook.assignment_id == SubmittedAssignment.id)
        .join(Assignment, SubmittedAssignment.assignment_id == Assignment.id)
    )


def _of_student(rows: Query, student: str) -> Query:
    return rows.filter(SubmittedAssignment.student_id == student)


def _submitted(book: Gradebook, attempt: Attempt, submitted_at: datetime | None) -> SubmittedNotebook:
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
    earlier = previous.answers if previous and previous.sha256 != attempt.sha256 else attempt.answers
    withdrawn = []
    for cell in submitted.notebook.grade_cells:
        exercise = exercise_of(cell.name)
        if exercise not in reports:
            raise CourseError(
                f"the gradebook has a cell '{cell.name}' that lesson '{attempt.lesson}' does not "
                "have: the lesson changed after its release; grade with the released notebook"
            )
        grade = rows.get(cell.id) or Grade(cell=cell, notebook=submitted)
        if earlier.get(exercise) != attempt.answers.get(exercise):
            withdrawn += _withdraw(grade, submitted, exercise)
        changed = previous is None or grade.auto_score != reports[exercise].score
        grade.auto_score = reports[exercise].score
        if grade.manual_score is None:
            grade.needs_manual_grade = grade.auto_score is None
        elif changed:
            grade.needs_manual_grade = True
        book.db.add(grade)
    return withdrawn


def _withdraw(grade: Grade, submitted: SubmittedNotebook, exercise: str) -> list[Withdrawn]:
    """Clear what was given by hand to the earlier answer: score, extra credit and comment."""
    said = ""
    score, extra = grade.manual_score, grade.extra_credit
    grade.manual_score = grade.extra_credit = None
    for comment in submitted.comments:
        if comment.cell.name == exercise:
            said, comment.manual_comment = comment.manual_comment or "", None
    gone = Withdrawn(exercise, score, extra or None, "" if said == NO_RESPONSE else said)
    return [] if gone == Withdrawn(exercise) else [gone]


def _write_comments(book: Gradebook, submitted: SubmittedNotebook, attempt: Attempt) -> None:
    reports = {report.id: report for report in attempt.report.exercises}
    rows = {row.cell_id: row for row in submitted.comments}
    for cell in submitted.notebook.solution_cells:
        comment = rows.get(cell.id) or Comment(cell=cell, notebook=submitted)
        report = reports.get(exercise_of(cell.name))
        blank = report is not None and report.outcome in (Outcome.UNANSWERED, Outcome.MISSING)
        comment.auto_comment = NO_RESPONSE if blank else None
        book.db.add(comment)
