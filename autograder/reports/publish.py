"""Writes what an instructor reads after a run: the class page, and marks as CSV."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from autograder.course import Course
from autograder.record.attempts import AttemptLog
from autograder.reports.class_page import class_page
from autograder.reports.csv_file import marks_csv
from autograder.results import Report


def publish(course: Course, lessons: Sequence[str]) -> list[Path]:
    """Write reports/class.html over all marked lessons, and a CSV for each; return the files."""
    log = AttemptLog(course.reports)
    latest = {lesson: attempts for lesson in lessons if (attempts := log.latest(lesson))}
    reports = {
        lesson: {student: attempt.report for student, attempt in attempts.items()}
        for lesson, attempts in latest.items()
    }
    sandboxed = all(a.sandboxed for attempts in latest.values() for a in attempts.values())
    page = course.reports / "class.html"
    html = class_page(reports, sandboxed=sandboxed, made_at=datetime.now(UTC))
    page.write_text(html, encoding="utf-8")
    return [page, *(_csv(course, lesson, reports[lesson]) for lesson in reports)]


def _csv(course: Course, lesson: str, reports: Mapping[str, Report]) -> Path:
    path = course.reports / f"{lesson}.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write(marks_csv(reports))
    return path
