"""Writes the instructor's reports after a run: the class page, and the scores as CSV."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from autograder.model.course import Course
from autograder.reports.class_page import class_page
from autograder.reports.csv_file import scores_csv
from autograder.storage.attempts import AttemptLog


def publish(course: Course, lessons: Sequence[str]) -> list[Path]:
    """Write reports/class.html over all graded lessons, and a CSV file for each; return the files."""
    log = AttemptLog(course.reports)
    latest = {lesson: attempts for lesson in lessons if (attempts := log.latest(lesson))}
    reports = {
        lesson: {student: attempt.report for student, attempt in attempts.items()}
        for lesson, attempts in latest.items()
    }
    sandboxed = all(a.sandboxed for attempts in latest.values() for a in attempts.values())
    html = class_page(reports, sandboxed=sandboxed, made_at=datetime.now(UTC))
    texts = {"class.html": html}
    texts |= {f"{lesson}.csv": scores_csv(found) for lesson, found in reports.items()}
    for name, text in texts.items():
        (course.reports / name).write_text(text, encoding="utf-8", newline="")
    return [course.reports / name for name in texts]
