"""What the gradebook knows about a student is read at once, by lesson and exercise."""

from nbgrader.api import Gradebook
from tiny_course import LESSON, RIGHT, FakeGrader, hand_in

from autograder.grading.grade_submission import grade_submission
from autograder.model.course import Course
from autograder.storage.gradebook import write_scores
from autograder.storage.student_grades import student_grades
from autograder.submissions.submission import Submission


def record(course: Course, book: Gradebook, student: str, **answers: str) -> None:
    """Hand in, grade, and write the scores."""
    hand_in(course, student, **answers)
    submission = Submission(course, student, LESSON, "v")
    attempt, _ = grade_submission(FakeGrader(course), submission, sandboxed=True)
    write_scores(book, attempt, previous=None, submitted_at=None)


def test_scores_are_those_of_the_student_and_pending_ones_are_none(course: Course, book: Gradebook) -> None:
    """A score given by hand takes the place of the machine's, and extra credit counts."""
    record(course, book, "alice", double="# half", why="Because.")
    record(course, book, "bob", **RIGHT)
    (found,) = student_grades(book, "alice").values()
    assert found.scores == {"double": 4.0, "halve": 0.0, "why": None}
    grade = book.find_grade("double-test", LESSON, LESSON, "alice")
    grade.manual_score, grade.extra_credit = 5.0, 0.5
    book.db.commit()
    assert student_grades(book, "alice")[LESSON].scores["double"] == 5.5
    assert student_grades(book, "bob")[LESSON].scores["double"] == 8.0
    assert student_grades(book, "nobody") == {}


def test_comments_are_the_instructors_alone(course: Course, book: Gradebook) -> None:
    """Nbgrader's "No response." on a skeleton is not one."""
    record(course, book, "alice", double="# half")
    assert student_grades(book, "alice")[LESSON].comments == {}
    book.find_comment("double", LESSON, LESSON, "alice").manual_comment = "Nearly."
    book.db.commit()
    assert student_grades(book, "alice")[LESSON].comments == {"double": "Nearly."}


def test_what_was_taken_off_for_lateness_is_known(course: Course, book: Gradebook) -> None:
    """And nothing if nothing was."""
    record(course, book, "alice", **RIGHT)
    assert student_grades(book, "alice")[LESSON].late_penalty == 0.0
    book.find_submission_notebook(LESSON, LESSON, "alice").late_submission_penalty = 2.5
    book.db.commit()
    assert student_grades(book, "alice")[LESSON].late_penalty == 2.5
