"""CSV files of all scores: nbgrader's, with pending points left empty, and one over all lessons."""

from autograder.exports.class_scores import ClassScores
from autograder.exports.roster import Person, Roster
from autograder.model.report import State
from autograder.reports.csv_file import csv_text

NBGRADER_COLUMNS = (
    "assignment", "duedate", "timestamp", "student_id", "last_name", "first_name", "email",
    "raw_score", "late_submission_penalty", "score", "max_score",
)  # fmt: skip
PERSON = ("student", "name", "email", "id")
PER_LESSON = ("score", "max", "pending", "seconds late", "penalty", "state")
TOTALS = ("total", "total of")

Cells = list[str | float | None]


def nbgrader_csv(scores: ClassScores, roster: Roster, *, partial: bool) -> str:
    """Return the file of `nbgrader export`; pending scores are empty, unless `partial` asks for them.

    The columns are those of nbgrader's CsvExportPlugin:
    https://nbgrader.readthedocs.io/en/stable/plugins/export-plugin.html
    nbgrader writes a row for each lesson and each student, with a score of 0 where nothing was submitted. It
    does not quote its cells, so that a name with a comma shifts a row; here they are quoted.
    """
    known = roster.known(scores.students)
    rows: list[Cells] = []
    for lesson in scores.lessons:
        due = str(lesson.due) if lesson.due else ""
        for student in scores.students:
            who, score = known.get(student, Person()), lesson.scores.get(student)
            names = (who.last_name, who.first_name or who.full_name, who.email)
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
    | total | the points graded so far in all lessons, after penalties |
    | total of | the points of all these lessons, handed in or not, without those still pending |
    """
    known = roster.known(scores.students)
    lessons = [f"{lesson.lesson} {title}" for lesson in scores.lessons for title in PER_LESSON]
    rows = [_course_row(scores, student, known.get(student, Person())) for student in scores.students]
    rows += [_course_row(scores, person.student_id, person) for person in roster.without(known)]
    return csv_text([[*PERSON, *lessons, *TOTALS], *rows])


def _course_row(scores: ClassScores, student: str, who: Person) -> Cells:
    earned: list[float] = []
    most = 0.0
    cells: Cells = [student, who.full_name, who.email, who.number]
    for lesson in scores.lessons:
        score = lesson.scores.get(student)
        most += lesson.max_score - (score.report.pending if score else 0.0)
        if score is None:
            cells += [None, lesson.max_score, None, None, None, State.ABSENT.value]
            continue
        report = score.report
        is_graded, is_absent = report.share is not None, report.state is State.ABSENT
        late = (None, None) if is_absent else (score.seconds_late, score.penalty)
        points = report.score if is_graded else None
        cells += [points, report.max_score, report.pending, *late, report.state.value]
        if is_graded:
            earned.append(score.earned)
    return [*cells, sum(earned) if earned else None, most]
