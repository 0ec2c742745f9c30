"""The scores of a class as an export needs them: of all lessons, with lateness and penalties.

Two CSV files of all scores: nbgrader's, with pending points left empty, and one over all lessons.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from nbgrader.api import Gradebook, MissingEntry

from autograder.exports.roster import Person, Roster
from autograder.model.attempt import Attempt
from autograder.model.course import Course
from autograder.model.errors import CourseError
from autograder.model.nbgrader_config import outside_totals
from autograder.model.report import Report, State
from autograder.reports.csv_file import csv_text
from autograder.storage.attempts import AttemptLog
from autograder.storage.class_list import Listed, listed
from autograder.storage.gradebook import comments_by_hand, open_gradebook, scores_by_hand

NBGRADER_COLUMNS = (
    "assignment", "duedate", "timestamp", "student_id", "last_name", "first_name", "email",
    "raw_score", "late_submission_penalty", "score", "max_score",
)  # fmt: skip
PERSON = ("student", "name", "email", "id")
PER_LESSON = ("score", "max", "pending", "seconds late", "penalty", "state")
TOTALS = ("total", "total of")
Cells = list[str | float | None]


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
    """The scores of one lesson, by student; those who handed in nothing have none.

    One that is extra has a column of its own, and is in no total.
    """

    lesson: str
    max_score: float
    due: datetime | None
    scores: dict[str, Score]
    is_extra: bool = False

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
    """The scores of a class: its lessons in order, everybody with a score, and the class list."""

    lessons: Sequence[LessonScores]
    students: Sequence[str]
    class_list: Sequence[Listed] = ()

    def pending(self) -> int:
        """Return how many submissions have points that are still to be graded by hand."""
        every = (score for lesson in self.lessons for score in lesson.scores.values())
        return sum(score.report.pending > 0 for score in every)

    def people(self, roster: Roster) -> dict[str, Person]:
        """Return the person of each student by roster and class list, which has the last word on a name.

        Raises CourseError as `roster.known` does.
        """
        known = roster.known(self.students)
        people = {student: known.get(student, Person()) for student in self.students}
        for each in self.class_list:
            who = people[each.student]
            if each.full_name:
                who = replace(who, name="", first_name=each.first_name, last_name=each.last_name)
            people[each.student] = replace(who, email=each.email or who.email)
        return people


def class_scores(course: Course, lessons: Iterable[str] = ()) -> ClassScores:
    """Return the scores of these lessons; of all that were graded, if none is named.

    Raises CourseError if one of them was never graded, or if nothing was.
    """
    log, wanted, extra = AttemptLog(course.reports), list(lessons), outside_totals(course)
    with open_gradebook(course) as book:
        found = [
            _lesson_scores(book, log, name, is_extra=name in extra) for name in wanted or course.lessons()
        ]
        for lesson in found:
            if wanted and not lesson.scores:
                raise CourseError(
                    f"no scores of {lesson.lesson} to export: run 'autograder grade {lesson.lesson}' first"
                )
        graded = [lesson for lesson in found if lesson.scores]
        class_list = listed(book)
    if not graded:
        raise CourseError("no scores of any lesson to export: run 'autograder grade' first")
    students = {each.student for each in class_list}.union(*(lesson.scores for lesson in graded))
    return ClassScores(graded, sorted(students), class_list)


def _lesson_scores(book: Gradebook, log: AttemptLog, lesson: str, *, is_extra: bool) -> LessonScores:
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
    return LessonScores(lesson, points, due, scores, is_extra)


def _score(
    book: Gradebook, attempt: Attempt, by_hand: Mapping[str, float], comments: Mapping[str, str]
) -> Score:
    report = attempt.report.with_scores(by_hand)
    try:
        row = book.find_submission(attempt.lesson, attempt.student)
    except MissingEntry:  # an attempt whose recording was cut short
        return Score(report, None, 0.0, 0.0, attempt.sandboxed)
    late, penalty = round(row.total_seconds_late), row.late_submission_penalty or 0.0
    return Score(report, row.timestamp, late, penalty, attempt.sandboxed, comments)


def nbgrader_csv(scores: ClassScores, roster: Roster, *, partial: bool) -> str:
    """Return the file of `nbgrader export`; pending scores are empty, unless `partial` asks for them.

    The columns are those of nbgrader's CsvExportPlugin:
    https://nbgrader.readthedocs.io/en/stable/plugins/export-plugin.html
    nbgrader writes a row for each lesson and each student, with a score of 0 where nothing was submitted. It
    does not quote its cells, so that a name with a comma shifts a row; here they are quoted.
    """
    people = scores.people(roster)
    rows: list[Cells] = []
    for lesson in scores.lessons:
        due = str(lesson.due) if lesson.due else ""
        for student in scores.students:
            who, score = people[student], lesson.scores.get(student)
            first_name, last_name = who.both_names
            names = (last_name, first_name, who.email)
            stamp = str(score.submitted_at) if score and score.submitted_at else ""
            numbers: Cells = [0.0, 0.0, 0.0]
            if score and score.report.pending and not partial:
                numbers = [None, score.penalty, None]
            elif score:
                numbers = [score.report.score, score.penalty, score.earned]
            rows.append([lesson.lesson, due, stamp, student, *names, *numbers, lesson.max_score])
    return csv_text([NBGRADER_COLUMNS, *rows])


def course_csv(scores: ClassScores, roster: Roster) -> str:
    """Return one file over all lessons; students whom only the roster knows are in it, without scores.

    | column | holds |
    |---|---|
    | LESSON score | the points graded so far, before any penalty; empty if nothing was graded |
    | LESSON max | the points of the lesson |
    | LESSON pending | the points still to be graded by hand |
    | LESSON seconds late | 0 if it was in time |
    | LESSON penalty | the points that nbgrader's late-submission plugin took off |
    | LESSON state | graded, unreadable, wrong-file or absent |
    | total | the points graded so far in all lessons that are not extra, after penalties |
    | total of | the points of all these lessons, handed in or not, without those still pending |
    """
    people = scores.people(roster)
    lessons = [f"{lesson.lesson} {title}" for lesson in scores.lessons for title in PER_LESSON]
    rows = [_course_row(scores, student, people[student]) for student in scores.students]
    others = roster.without(roster.known(scores.students))
    rows += [_course_row(scores, person.student_id, person) for person in others]
    return csv_text([[*PERSON, *lessons, *TOTALS], *rows])


def _course_row(scores: ClassScores, student: str, who: Person) -> Cells:
    earned: list[float] = []
    most = 0.0
    cells: Cells = [student, who.full_name, who.email, who.number]
    for lesson in scores.lessons:
        score = lesson.scores.get(student)
        if not lesson.is_extra:
            most += lesson.max_score - (score.report.pending if score else 0.0)
        if score is None:
            cells += [None, lesson.max_score, None, None, None, State.ABSENT.value]
            continue
        report = score.report
        is_graded, is_absent = report.share is not None, report.state is State.ABSENT
        late = (None, None) if is_absent else (score.seconds_late, score.penalty)
        points = report.score if is_graded else None
        cells += [points, report.max_score, report.pending, *late, report.state.value]
        if is_graded and not lesson.is_extra:
            earned.append(score.earned)
    return [*cells, sum(earned) if earned else None, most]
