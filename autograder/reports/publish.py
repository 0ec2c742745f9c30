"""Writes the instructor's reports after a run: the pages of the class, and the scores as CSV."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from nbgrader.api import Gradebook

from autograder.model.course import Course
from autograder.model.nbgrader_config import settings
from autograder.model.report import Report, State
from autograder.reports import imprint
from autograder.reports.class_answers import read_answers
from autograder.reports.class_pages import FORMGRADER, ClassReport
from autograder.reports.csv_file import scores_csv
from autograder.reports.imprint import Imprint
from autograder.storage.attempts import Attempt, AttemptLog
from autograder.storage.gradebook import open_gradebook, scores_by_hand


@dataclass(frozen=True)
class Published:
    """The files that were written, and the reports that they show, by lesson and student."""

    paths: list[Path]
    reports: dict[str, dict[str, Report]]


def publish(course: Course, lessons: Sequence[str]) -> Published:
    """Write reports/class.html and the pages beside it, and a CSV file for each graded lesson.

    Scores that were given by hand take the place of those of the newest attempts. Students whom the
    gradebook knows, and who handed in nothing for a lesson, are absent from it. Nothing is written if the
    pages are there already and show all this.
    """
    log = AttemptLog(course.reports)
    latest = {lesson: attempts for lesson in lessons if (attempts := log.latest(lesson))}
    with open_gradebook(course) as book:
        reports = {lesson: _reports(course, book, found) for lesson, found in latest.items()}
    source = _Source(
        course,
        latest,
        reports,
        formgrader=settings(course).ClassReport.get("formgrader", FORMGRADER),
        indexes={path.parent.name for path in course.feedback.glob("*/index.html")},
    )
    now = source.imprint()
    paths = imprint.made_from(course.reports, now)
    if paths is None:
        paths = source.write()
        imprint.keep(course.reports, now, paths)
    return Published(paths, reports)


@dataclass(frozen=True)
class _Source:
    """What the pages are made from, by lesson and student."""

    course: Course
    latest: Mapping[str, Mapping[str, Attempt]]
    reports: Mapping[str, Mapping[str, Report]]
    formgrader: str
    indexes: Set[str]

    @property
    def sandboxed(self) -> bool:
        """Whether every submission was graded in the sandbox."""
        return all(each.sandboxed for found in self.latest.values() for each in found.values())

    def imprint(self) -> Imprint:
        """Return what tells this from any other source."""
        course, made = self.course, Imprint()
        made.add(self.formgrader, str(self.sandboxed), *sorted(self.indexes))
        for lesson, found in self.reports.items():
            made.add(lesson, *(f"{name} {report.model_dump_json()}" for name, report in found.items()))
            made.add_files([course.text(lesson), course.release_notebook(lesson)])
            made.add_files(course.autograded_notebook(name, lesson) for name in self.latest[lesson])
        return made

    def write(self) -> list[Path]:
        """Write the pages and the CSV files, and return their paths."""
        report = ClassReport(
            self.reports,
            answers={name: read_answers(self.course, name, found) for name, found in self.latest.items()},
            sandboxed=self.sandboxed,
            made_at=datetime.now(UTC),
            formgrader=self.formgrader,
            indexes=self.indexes,
        )
        texts = report.pages()
        texts |= {f"{lesson}.csv": scores_csv(found) for lesson, found in self.reports.items()}
        for name, text in texts.items():
            (self.course.reports / name).write_text(text, encoding="utf-8", newline="")
        return [self.course.reports / name for name in texts]


def _reports(course: Course, book: Gradebook, latest: dict[str, Attempt]) -> dict[str, Report]:
    """Return the report of every student of the class at one lesson."""
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
