"""The gradebook holds the newest attempt, whole, as nbgrader itself would have written it."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest
from nbgrader.api import Comment, Grade, Gradebook, Student, SubmittedAssignment
from nbgrader.preprocessors import SaveAutoGrades
from tiny_course import LESSON, RIGHT, FakeGrader, hand_in
from tiny_fixtures import ReadGrades

from autograder.grading.grade_submission import grade_submission
from autograder.model.attempt import Attempt
from autograder.model.course import Course
from autograder.model.errors import CourseError
from autograder.reports.formgrader import graded_notebook
from autograder.storage.gradebook import Withdrawn, scores_by_hand, student_grades, write_scores
from autograder.submissions.submission import Submission

Made = Callable[..., Attempt]


@pytest.fixture
def made(course: Course) -> Made:
    """Give a function that hands in and grades."""

    def make(student: str = "alice", **answers: str) -> Attempt:
        hand_in(course, student, **answers)
        submission = Submission(course, student, LESSON, "v")
        return grade_submission(FakeGrader(course), submission, sandboxed=True)[0]

    return make


def keep(book: Gradebook, attempt: Attempt, previous: Attempt | None = None) -> list[Withdrawn]:
    """Write without a time of submission."""
    return write_scores(book, attempt, previous=previous, submitted_at=None)


def grade_of(book: Gradebook, cell: str, student: str = "alice") -> Grade:
    """Return one grade's row."""
    return book.find_grade(cell, LESSON, LESSON, student)


@pytest.mark.parametrize(
    "answers", [{}, RIGHT, {"double": "# half"}, {"why": "So.", "halve": "# right"}]
)
def test_rows_equal_those_of_nbgraders_own_preprocessor(
    course: Course, book: Gradebook, made: Made, answers: dict[str, str]
) -> None:
    """SaveAutoGrades, run on the page, leaves the same grades and comments."""
    attempt = made("alice", **answers)
    keep(book, attempt)
    twin = made("twin", **answers)
    submission = Submission(course, "twin", LESSON, "v")
    page = graded_notebook(grade_submission(FakeGrader(course), submission, sandboxed=True)[1], twin)
    book.update_or_create_student("twin")
    book.update_or_create_submission(LESSON, "twin")
    for cell in page.cells:  # as OverwriteCells does
        if "nbgrader" in cell.metadata:
            source = book.find_source_cell(cell.metadata.nbgrader.grade_id, LESSON, LESSON)
            cell.metadata.nbgrader["checksum"] = source.checksum
    place = {
        "notebook": LESSON,
        "assignment": LESSON,
        "student": "twin",
        "db_url": f"sqlite:///{course.gradebook}",
    }
    SaveAutoGrades().preprocess(page, {"nbgrader": place})
    book.db.expire_all()
    assert rows(book, "alice") == rows(book, "twin")


def rows(book: Gradebook, student: str) -> dict[str, Any]:
    """Return a student's grades and comments by cell."""
    notebook = book.find_submission_notebook(LESSON, LESSON, student)
    given = {g.name: (g.auto_score, g.needs_manual_grade, g.score) for g in notebook.grades}
    return given | {f"comment {c.name}": c.auto_comment for c in notebook.comments}


def test_a_newer_attempt_replaces_every_score(
    book: Gradebook, made: Made, grades: ReadGrades
) -> None:
    """Nothing of an earlier attempt survives, and there is still one submission."""
    first = made(**RIGHT)
    keep(book, first)
    second = made(double="# half")
    keep(book, second, first)
    assert grades("alice") == {
        "double-test": (4.0, None, False),
        "halve-test": (0.0, None, False),
        "why": (0.0, None, False),
    }
    assert book.db.query(SubmittedAssignment).count() == 1
    assert book.db.query(Grade).count() == 3
    assert book.db.query(Comment).count() == 3


def test_a_grader_error_leaves_the_score_open(book: Gradebook, made: Made, grades: ReadGrades) -> None:
    """The exercise has no score and needs a manual grade, even if an earlier attempt had a score."""
    first = made(**RIGHT)
    keep(book, first)
    keep(book, made(double="# fault"), first)
    assert grades("alice")["double-test"] == (None, None, True)


def test_a_score_given_by_hand_stays_with_its_answer(book: Gradebook, made: Made) -> None:
    """When the same answer is graded again, it stays; nobody has to review what the grader sees as before."""
    first = made(**RIGHT)
    keep(book, first)
    for cell, score in (("why", 1.5), ("halve-test", 9.0)):
        grade_of(book, cell).manual_score = score
        grade_of(book, cell).needs_manual_grade = False
    book.db.commit()
    second = made(**RIGHT | {"double": "# other"})
    assert keep(book, second, first) == []
    assert (grade_of(book, "why").score, grade_of(book, "why").needs_manual_grade) == (1.5, False)
    halve = second.report.exercise("halve").model_copy(update={"score": 5.0})
    lower = second.report.with_exercises([second.report.exercise("double"), halve, second.report.exercise("why")])
    assert keep(book, second.model_copy(update={"report": lower}), second) == []
    assert (grade_of(book, "halve-test").score, grade_of(book, "halve-test").needs_manual_grade) == (9.0, True)
    assert not grade_of(book, "why").needs_manual_grade


@pytest.mark.parametrize("failed", ["before", "after"])
def test_a_grader_error_withdraws_nothing_from_the_same_file(book: Gradebook, made: Made, failed: str) -> None:
    """The answers of a file on which the grader failed as a whole are unknown, but they are not others."""
    known = made(**RIGHT)
    unknown = known.model_copy(update={"answers": {}})
    first, second = (unknown, known) if failed == "before" else (known, unknown)
    keep(book, first)
    grade_of(book, "why").manual_score = 1.5
    book.db.commit()
    assert keep(book, second, first) == []
    assert grade_of(book, "why").score == 1.5


def test_a_score_given_by_hand_goes_with_its_answer(book: Gradebook, made: Made) -> None:
    """A new answer withdraws the score, extra credit and comment given by hand, and says so."""
    first = made(**RIGHT)
    keep(book, first)
    grade = grade_of(book, "why")
    grade.manual_score, grade.extra_credit = 1.5, 1.0
    book.find_comment("why", LESSON, LESSON, "alice").manual_comment = "Good."
    book.db.commit()
    assert keep(book, made(why="Another."), first) == [Withdrawn("why", 1.5, 1.0, "Good.")]
    grade = grade_of(book, "why")
    assert (grade.manual_score, grade.extra_credit, grade.score) == (None, None, 0.0)
    assert grade.needs_manual_grade
    assert book.find_comment("why", LESSON, LESSON, "alice").comment is None


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"extra_credit": 0.5}, "the extra credit 0.5, given by hand to an earlier answer, was withdrawn"),
        ({"comment": "See\npage 3."}, 'the comment "See page 3.", given by hand to an earlier answer, was'),
        ({"score": 1.5, "comment": "Good."}, 'the score 1.5 and the comment "Good.", given by hand'),
    ],
)
def test_nothing_given_by_hand_is_lost_silently(
    book: Gradebook, made: Made, given: dict[str, Any], says: str
) -> None:
    """Extra credit or a comment without a score is named as well, so that it can be given again."""
    first = made(**RIGHT)
    keep(book, first)
    grade, comment = grade_of(book, "why"), book.find_comment("why", LESSON, LESSON, "alice")
    grade.manual_score, grade.extra_credit = given.get("score"), given.get("extra_credit")
    comment.manual_comment = given.get("comment")
    book.db.commit()
    withdrawn = keep(book, made(why="Another."), first)
    assert withdrawn == [Withdrawn("why", **given)]
    assert says in str(withdrawn[0])
    assert (grade.extra_credit, comment.manual_comment) == (None, None)


def test_extra_credit_alone_is_no_score(book: Gradebook, made: Made) -> None:
    """It counts with a score, given by hand or by the grader; a pending answer stays pending."""
    keep(book, made(**RIGHT))
    grade_of(book, "why").extra_credit = grade_of(book, "double-test").extra_credit = 0.5
    book.db.commit()
    assert scores_by_hand(book, LESSON) == {"alice": {"double": 8.5}}
    grade_of(book, "why").manual_score = 1.0
    book.db.commit()
    assert scores_by_hand(book, LESSON) == {"alice": {"double": 8.5, "why": 1.5}}


def test_a_hand_given_score_of_unknown_origin_stays(book: Gradebook, made: Made) -> None:
    """Without a log it is unknown which answer it was for, so it is kept and flagged."""
    keep(book, made(**RIGHT))
    grade_of(book, "double-test").manual_score = 7.0
    book.db.commit()
    assert keep(book, made(double="# half")) == []
    grade = grade_of(book, "double-test")
    assert (grade.manual_score, grade.needs_manual_grade) == (7.0, True)


def test_the_time_of_submission_is_kept(book: Gradebook, made: Made) -> None:
    """timestamp.txt is recorded; an attempt without one has no time, not that of an earlier attempt."""
    time = datetime(2026, 1, 2, 3, 4)
    write_scores(book, made(), previous=None, submitted_at=time)
    assert book.find_submission(LESSON, "alice").timestamp == time
    keep(book, made())
    assert book.find_submission(LESSON, "alice").timestamp is None


def test_what_is_known_of_a_student_stays(book: Gradebook, made: Made) -> None:
    """A student who is already in the gradebook keeps name and address."""
    book.add_student("alice", first_name="Alice", email="a@example.org")
    keep(book, made())
    student = book.db.get(Student, "alice")
    assert (student.first_name, student.email) == ("Alice", "a@example.org")


def test_a_failure_half_way_leaves_the_gradebook_as_it_was(
    book: Gradebook, made: Made, grades: ReadGrades
) -> None:
    """A lesson with other exercises than the gradebook's raises, and no row changes."""
    first = made(**RIGHT)
    keep(book, first)
    short = made(double="# half")
    report = short.report.model_copy(update={"exercises": short.report.exercises[:1]})
    with pytest.raises(CourseError, match="halve-test"):
        keep(book, short.model_copy(update={"report": report}), first)
    assert grades("alice")["double-test"] == (8.0, None, False)
    with pytest.raises(CourseError, match="does not know lesson '04_other'"):
        keep(book, first.model_copy(update={"lesson": "04_other", "student": "new"}))
    assert book.db.get(Student, "new") is None


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
