"""Writes the instructor's reports after a run: the pages of the class, and the scores as CSV."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from nbgrader.api import Gradebook

from autograder.model.course import Course
from autograder.model.nbgrader_config import settings
from autograder.model.report import Report, State
from autograder.reports.class_answers import read_answers
from autograder.reports.class_pages import FORMGRADER, ClassReport
from autograder.reports.csv_file import scores_csv
from autograder.storage.attempts import Attempt, AttemptLog
from autograder.storage.gradebook import scores_by_hand
from autograder.storage.nbgrader_api import open_gradebook


@dataclass(frozen=True)
class Published:
    """The files that were written, and the reports that they show, by lesson and student."""

    paths: list[Path]
    reports: dict[str, dict[str, Report]]


def publish(course: Course, lessons: Sequence[str]) -> Published:
    """Write reports/class.html and the pages beside it, and a CSV file for each graded lesson.

    Scores that were given by hand take the place of those of the newest attempts. Students whom the
    gradebook knows, and who handed in nothing for a lesson, are absent from it.
    """
    log = AttemptLog(course.reports)
    latest = {lesson: attempts for lesson in lessons if (attempts := log.latest(lesson))}
    config = settings(course)
    with open_gradebook(course) as book:
        reports = {lesson: _reports(course, book, found) for lesson, found in latest.items()}
    report = ClassReport(
        reports,
        answers={lesson: read_answers(course, lesson, found) for lesson, found in latest.items()},
        sandboxed=all(a.sandboxed for attempts in latest.values() for a in attempts.values()),
        made_at=datetime.now(UTC),
        formgrader=config.ClassReport.get("formgrader", FORMGRADER),
        indexes={path.parent.name for path in course.feedback.glob("*/index.html")},
    )
    texts = report.pages()
    texts |= {f"{lesson}.csv": scores_csv(found) for lesson, found in reports.items()}
    for name, text in texts.items():
        (course.reports / name).write_text(text, encoding="utf-8", newline="")
    return Published([course.reports / name for name in texts], reports)


def _reports(course: Course, book: Gradebook, latest: dict[str, Attempt]) -> dict[str, Report]:
    """Return the report of every student of the class at one lesson."""
    graded = next(iter(latest.values())).report
    nothing = Report(
        lesson=graded.lesson,
        score=0.0,
        max_score=graded.max_score,
        exercises=[],
        state=State.ABSENT,
    )
    absent = {
        student.id: nothing
        for student in book.students
        if not course.submission(student.id, graded.lesson).parent.exists()
    }
    by_hand = scores_by_hand(book, graded.lesson)
    return absent | {
        student: attempt.report.with_scores(by_hand.get(student, {}))
        for student, attempt in latest.items()
    }
