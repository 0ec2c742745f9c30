"""Writes the instructor's reports after a run: the pages of the class, and the scores as CSV."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from nbgrader.api import Gradebook

from autograder.model.attempt import Attempt
from autograder.model.course import Course
from autograder.model.nbgrader_config import outside_totals, settings
from autograder.model.report import Report, State
from autograder.reports.class_answers import read_answers, with_mistake
from autograder.reports.class_pages import FORMGRADER, class_pages
from autograder.reports.csv_file import scores_csv
from autograder.storage.attempts import AttemptLog
from autograder.storage.class_list import listed
from autograder.storage.gradebook import open_gradebook, penalised, scores_by_hand


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
    with open_gradebook(course) as book:
        reports = {lesson: _reports(course, book, found) for lesson, found in latest.items()}
        full_names = {each.student: each.full_name for each in listed(book) if each.full_name}
        late = penalised(book)
    formgrader = settings(course).ClassReport.get("formgrader", FORMGRADER)
    extra = outside_totals(course)
    indexes = {path.parent.name for path in course.feedback.glob("*/index.html")}
    sandboxed = all(each.sandboxed for found in latest.values() for each in found.values())

    answers = {name: read_answers(course, name, found) for name, found in latest.items()}
    texts = class_pages(
        reports,
        answers,
        sandboxed=sandboxed,
        made_at=datetime.now(UTC),
        formgrader=formgrader,
        indexes=indexes,
        changes={
            lesson: {name: each.changes for name, each in found.items()} for lesson, found in latest.items()
        },
        extra=extra,
        late=late,
        full_names=full_names,
        with_mistake=partial(with_mistake, course),
    )
    texts |= {f"{lesson}.csv": scores_csv(found) for lesson, found in reports.items()}
    for name, text in texts.items():
        (course.reports / name).write_text(text, encoding="utf-8", newline="")
    for lesson in set(lessons) - reports.keys():  # whose last student was removed
        for name in (f"{lesson}.csv", f"class-{lesson}.html"):
            (course.reports / name).unlink(missing_ok=True)
    paths = [course.reports / name for name in texts]
    return Published(paths, reports)


def _reports(course: Course, book: Gradebook, latest: dict[str, Attempt]) -> dict[str, Report]:
    graded = next(iter(latest.values())).report
    nothing = Report(
        lesson=graded.lesson, score=0.0, max_score=graded.max_score, exercises=[], state=State.ABSENT
    )
    absent = {
        student.id: nothing
        for student in book.students
        if not course.submission(student.id, graded.lesson).parent.exists()
    }
    by_hand = scores_by_hand(book, graded.lesson)
    return absent | {
        student: attempt.report.with_scores(by_hand.get(student, {})) for student, attempt in latest.items()
    }
