"""The scores of a class as an export needs them: of all lessons, with lateness and penalties."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from nbgrader.api import Gradebook, MissingEntry

from autograder.model.course import Course
from autograder.model.errors import CourseError
from autograder.model.report import Report
from autograder.storage.attempts import Attempt, AttemptLog
from autograder.storage.gradebook import comments_by_hand, open_gradebook, scores_by_hand


@dataclass(frozen=True)
class Score:
    """One student's newest attempt at one lesson, with the scores and comments given by hand.

    `seconds_late` and `penalty` are nbgrader's: lateness is counted from the due date in the
    gradebook, and the penalty is what the course's late-submission plugin said when it was graded.
    """

    report: Report
    submitted_at: datetime | None
    seconds_late: float
    penalty: float
    sandboxed: bool
    comments: Mapping[str, str] = field(default_factory=dict)  # by exercise

    @property
    def earned(self) -> float:
        """The points earned so far, after the penalty; never below zero."""
        return max(0.0, self.report.score - self.penalty)


@dataclass(frozen=True)
class LessonScores:
    """The scores of one lesson, by student; those who handed in nothing have none."""

    lesson: str
    max_score: float
    due: datetime | None
    scores: dict[str, Score]

    def cell(self, student: str, *, partial: bool) -> float | None:
        """Return a student's points for a file that holds one number per lesson.

        None stands for an empty cell: nothing was graded, or points are pending. With `partial`, the
        points so far are returned in spite of pending ones.
        """
        score = self.scores.get(student)
        if score is None or not score.report.is_graded or (score.report.pending and not partial):
            return None
        return score.earned


@dataclass(frozen=True)
class ClassScores:
    """The scores of a class: its lessons in order, and everybody whom the gradebook knows."""

    lessons: Sequence[LessonScores]
    students: Sequence[str]

    def pending(self) -> int:
        """Return how many submissions have points that are still to be graded by hand."""
        every = (score for lesson in self.lessons for score in lesson.scores.values())
        return sum(score.report.pending > 0 for score in every)


def class_scores(course: Course, lessons: Iterable[str] = ()) -> ClassScores:
    """Return the scores of these lessons; of all that were graded, if none is named.

    Raises CourseError if one of them was never graded, or if nothing was.
    """
    log, wanted = AttemptLog(course.reports), list(lessons)
    with open_gradebook(course) as book:
        found = [_lesson_scores(book, log, name) for name in wanted or course.lessons()]
        for lesson in found:
            if wanted and not lesson.scores:
                raise CourseError(
                    f"no scores of {lesson.lesson} to export: run 'autograder grade {lesson.lesson}' first"
                )
        graded = [lesson for lesson in found if lesson.scores]
        students = {student.id for student in book.students}
    if not graded:
        raise CourseError("no scores of any lesson to export: run 'autograder grade' first")
    return ClassScores(graded, sorted(students.union(*(lesson.scores for lesson in graded))))


def _lesson_scores(book: Gradebook, log: AttemptLog, lesson: str) -> LessonScores:
    by_hand, comments = scores_by_hand(book, lesson), comments_by_hand(book, lesson)
    scores = {
        student: _score(book, attempt, by_hand.get(student, {}), comments.get(student, {}))
        for student, attempt in log.latest(lesson).items()
    }
    points = max((score.report.max_score for score in scores.values()), default=0.0)
    try:
        due = book.find_assignment(lesson).duedate
    except MissingEntry:
        due = None
    return LessonScores(lesson, points, due, scores)


def _score(
    book: Gradebook, attempt: Attempt, by_hand: Mapping[str, float], comments: Mapping[str, str]
) -> Score:
    report = attempt.report.with_scores(by_hand)
    try:
        row = book.find_submission(attempt.lesson, attempt.student)
    except MissingEntry:  # an attempt whose recording was cut short
        return Score(report, None, 0.0, 0.0, attempt.sandboxed)
    late, penalty = row.total_seconds_late, row.late_submission_penalty or 0.0
    return Score(report, row.timestamp, late, penalty, attempt.sandboxed, comments)
