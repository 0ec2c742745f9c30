"""One CSV file over all lessons: a row for each student, with what each lesson's score is made of."""

from autograder.exports.class_scores import ClassScores, LessonScores
from autograder.exports.roster import Person, Roster
from autograder.model.report import State
from autograder.reports.csv_file import csv_text

PERSON = ("student", "name", "email", "id")
PER_LESSON = ("score", "max", "pending", "seconds late", "penalty", "state")
TOTALS = ("total", "total of")


def course_csv(scores: ClassScores, roster: Roster) -> str:
    """Return the file; students whom only the roster knows are in it, without scores.

    | column | holds |
    |---|---|
    | LESSON score | the points graded so far, before any penalty; empty if nothing was graded |
    | LESSON max | the points of the lesson |
    | LESSON pending | the points still to be graded by hand |
    | LESSON seconds late | 0 if it was in time |
    | LESSON penalty | the points that nbgrader's late-submission plugin took off |
    | LESSON state | graded, unreadable, wrong-file or absent |
    | total | the points graded so far in all lessons, after penalties |
    | total of | the most that could be earned in what has been graded |
    """
    known, _ = roster.split(scores.students)
    header = [
        *PERSON,
        *(f"{each.lesson} {title}" for each in scores.lessons for title in PER_LESSON),
        *TOTALS,
    ]
    rows = [_row(scores, student, known.get(student)) for student in scores.students]
    missing = [person for person in roster.people if person not in known.values()]
    rows += [_row(scores, person.student or person.login, person) for person in missing]
    return csv_text([header, *rows])


def _row(scores: ClassScores, student: str, person: Person | None) -> list[str | float | None]:
    who = person or Person()
    total, most = 0.0, 0.0
    cells: list[str | float | None] = [student, who.full_name, who.email, who.number]
    for lesson in scores.lessons:
        cells += _lesson_cells(lesson, student)
        score = lesson.scores.get(student)
        if score and score.report.share is not None:
            total, most = total + score.earned, most + score.report.graded_points
    return [*cells, total if most else None, most or None]


def _lesson_cells(lesson: LessonScores, student: str) -> list[str | float | None]:
    score = lesson.scores.get(student)
    if score is None:
        return [None, lesson.max_score, None, None, None, State.ABSENT.value]
    report = score.report
    earned = None if report.share is None else report.score
    late = (score.seconds_late, score.penalty) if report.state is not State.ABSENT else (None, None)
    return [earned, report.max_score, report.pending, *late, report.state.value]
