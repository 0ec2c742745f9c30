"""The CSV file of `nbgrader export`, written so that pending points are not zeros.

The columns are those of nbgrader's CsvExportPlugin:
https://nbgrader.readthedocs.io/en/stable/plugins/export-plugin.html
nbgrader writes a row for each lesson and each student, with a score of 0 where nothing was submitted.
It does not quote its cells, so that a name with a comma shifts a row; here they are quoted.
"""

from collections.abc import Iterator

from autograder.exports.class_scores import ClassScores, LessonScores
from autograder.exports.roster import Person, Roster
from autograder.reports.csv_file import csv_text

COLUMNS = (
    "assignment",
    "duedate",
    "timestamp",
    "student_id",
    "last_name",
    "first_name",
    "email",
    "raw_score",
    "late_submission_penalty",
    "score",
    "max_score",
)

Cells = list[str | float | None]


def nbgrader_csv(scores: ClassScores, roster: Roster, *, partial: bool) -> str:
    """Return the file. Scores with pending points are empty, unless `partial` asks for them."""
    return csv_text([COLUMNS, *_rows(scores, roster, partial)])


def _rows(scores: ClassScores, roster: Roster, partial: bool) -> Iterator[Cells]:
    known, _ = roster.split(scores.students)
    for lesson in scores.lessons:
        due = str(lesson.due) if lesson.due else ""
        for student in scores.students:
            who = known.get(student, Person())
            names = (who.last_name, who.first_name or who.full_name, who.email)
            stamp, *numbers = _numbers(lesson, student, partial)
            yield [lesson.lesson, due, stamp, student, *names, *numbers, lesson.max_score]


def _numbers(lesson: LessonScores, student: str, partial: bool) -> Cells:
    """Return the time of submission, the raw score, the penalty and the score."""
    score = lesson.scores.get(student)
    if score is None:
        return ["", 0.0, 0.0, 0.0]
    stamp = str(score.submitted_at) if score.submitted_at else ""
    if score.report.pending and not partial:
        return [stamp, None, score.penalty, None]
    return [stamp, score.report.score, score.penalty, score.earned]
