"""Writes the instructor's reports after a run: the pages of the class, and the scores as CSV.

What the pages were made from is noted beside them, so that none is made twice.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from nbgrader.api import Gradebook

from autograder.model.attempt import Attempt
from autograder.model.course import Course
from autograder.model.files import files_in
from autograder.model.nbgrader_config import outside_totals, settings
from autograder.model.report import Report, State
from autograder.reports.class_answers import read_answers, with_mistake
from autograder.reports.class_pages import FORMGRADER, class_pages
from autograder.reports.csv_file import scores_csv
from autograder.storage.attempts import AttemptLog
from autograder.storage.class_list import listed
from autograder.storage.gradebook import open_gradebook, penalised, scores_by_hand

PACKAGE = Path(__file__).resolve().parent.parent
CODE = ("reports", "model")  # the folders whose code can change a page
MADE_FROM = ".made-from.json"


def imprint(*values: object) -> str:
    """Return a digest of what pages are made from: JSON values, and our own code by its `state`."""
    code = [[str(path), state(path)] for folder in CODE for path in files_in(PACKAGE / folder)]
    return hashlib.sha256(json.dumps([code, values]).encode()).hexdigest()


def state(path: Path) -> list[int]:
    """Return a file's size in bytes and its time in nanoseconds; nothing if it is not there."""
    try:
        found = path.stat()
    except OSError:
        return []
    return [found.st_size, found.st_mtime_ns]


def made_from(folder: Path, source: str) -> list[Path] | None:
    """Return the pages that were last made here, or None if this imprint is not what they were made from.

    Pages that have since been changed or removed are not up to date either.
    """
    try:
        stored = json.loads((folder / MADE_FROM).read_bytes())
        pages = {folder / name: made for name, made in stored["pages"].items()}
        same = stored["imprint"] == source
    except (OSError, ValueError, LookupError, TypeError, AttributeError):  # none yet, or torn
        return None
    return [*pages] if same and all(state(path) == made for path, made in pages.items()) else None


def keep(folder: Path, source: str, pages: Sequence[Path]) -> None:
    """Note the imprint of what these pages of a folder were made from."""
    stored = {"imprint": source, "pages": {path.name: state(path) for path in pages}}
    (folder / MADE_FROM).write_text(json.dumps(stored), encoding="utf-8")


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
        full_names = {each.student: each.full_name for each in listed(book) if each.full_name}
        late = penalised(book)
    formgrader = settings(course).ClassReport.get("formgrader", FORMGRADER)
    extra = outside_totals(course)
    indexes = {path.parent.name for path in course.feedback.glob("*/index.html")}
    sandboxed = all(each.sandboxed for found in latest.values() for each in found.values())

    files = [path for each in reports for path in (course.text(each), course.release_notebook(each))]
    files += [course.autograded_notebook(name, lesson) for lesson in reports for name in latest[lesson]]
    source = imprint(
        [formgrader, sandboxed, sorted(indexes), sorted(extra), sorted(late), full_names],
        {
            lesson: {name: each.model_dump_json() for name, each in found.items()}
            for lesson, found in reports.items()
        },
        [[str(path), state(path)] for path in files],
    )
    paths = made_from(course.reports, source)
    if paths is not None:
        return Published(paths, reports)

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
    keep(course.reports, source, paths)
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
