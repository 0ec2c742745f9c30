"""Records an attempt in every place that keeps it, in an order that survives a kill at any time.

The gradebook comes first, then the log, then the folder autograded/<student>/<lesson>, which is laid out as
by nbgrader. A later run skips a submission only if the folder holds its newest attempt, so anything that was
cut short is done again from the start.
"""

import json
import math
import os
import re
import shutil
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime
from numbers import Real
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbgrader.api import Gradebook, MissingEntry
from nbgrader.preprocessors import AssignLatePenalties
from nbgrader.utils import parse_utc

from autograder.model.attempt import Attempt
from autograder.model.course import CONFIG, Course
from autograder.model.errors import SettingsError
from autograder.model.nbgrader_config import plain_setting_errors, settings, shown
from autograder.model.text import some_of
from autograder.storage.attempts import AttemptLog, log_error
from autograder.storage.gradebook import Withdrawn, open_gradebook, quiet_logger, write_scores
from autograder.storage.locks import recording
from autograder.submissions.submission import SECRET, TIMESTAMP, Submission

KEY = "autograder"  # the entry of a graded notebook's metadata that holds its attempt
# A date, a time, and perhaps a zone by offset or name; a path to a zone's file is none.
_STAMP = re.compile(r"\d{4}-\d\d?-\d\d?[ T]\d\d?:\d\d(:\d\d)?(\.\d{1,9})?( ?[+-]?[A-Za-z0-9:]{1,10})?")
SMALLEST = 1e-6  # points; a smaller difference comes of rounding
READ_ONLY = 0o444  # the mode that nbgrader gives to autograded files


def record_attempt(course: Course, book: Gradebook, attempt: Attempt) -> list[Withdrawn]:
    """Write an attempt into the gradebook, then into the logs.

    Returns the scores given by hand that were withdrawn because the answers have changed.
    """
    log = AttemptLog(course.reports)
    submission = Submission(course, attempt.student, attempt.lesson, attempt.version)
    withdrawn = write_scores(
        book, attempt, previous=_previous(log, attempt), submitted_at=submission_time(submission)
    )
    if attempt.detail:
        subject = f"{attempt.student}, {attempt.lesson}"
        log_error(course.reports, attempt.graded_at, subject, attempt.detail)
    log.append(attempt)
    return withdrawn


def _previous(log: AttemptLog, attempt: Attempt) -> Attempt | None:
    """Return the student's newest attempt, with the answers of its file even if the grader failed on that."""
    newest = log.last(attempt.student, attempt.lesson)
    if newest is None or newest.answers:
        return newest
    of_file = (
        each.answers
        for each in reversed(log.of_student(attempt.student)[attempt.lesson])
        if each.sha256 == newest.sha256 and each.answers
    )
    return newest.model_copy(update={"answers": next(of_file, {})})


class LateRule:
    """What the course takes off late work: nbgrader's rule, or the one that nbgrader_config.py sets."""

    def __init__(self, course: Course) -> None:
        """Read the rule. Raises SettingsError if it cannot be used."""
        self._path = course.root / CONFIG
        with plain_setting_errors(course):
            rule = AssignLatePenalties(config=settings(course), log=quiet_logger())
            rule.init_plugin()
        self._plugin = rule.plugin_inst

    def taken_off(self, student: str, score: float, seconds: float) -> float:
        """Return what is taken off `score` points that came so many seconds late: from 0 to all of them.

        Raises SettingsError if the rule fails, or returns anything but a number or None.
        """
        try:
            taken = self._plugin.late_submission_penalty(student, score, seconds)
        except Exception as error:
            raise self._unusable(f"it stops with {type(error).__name__}: {error}") from error
        if taken is None:
            return 0.0
        if not isinstance(taken, Real) or isinstance(taken, bool) or math.isnan(taken):
            raise self._unusable(f"expected a number of points or None, got {shown(taken)}")
        return min(max(float(taken), 0.0), score)  # within the limits that nbgrader sets

    def _unusable(self, reason: str) -> SettingsError:
        return SettingsError(f"the rule for late work in {self._path} cannot be used: {reason}")


class Recorder:
    """Records the attempts of a class run and keeps the gradebook open: use it in a `with`."""

    def __init__(self, course: Course) -> None:
        """Read the course's nbgrader settings and open its gradebook.

        Raises SettingsError if the rule for late work that they name cannot be used.
        """
        self.course = course
        self._late = LateRule(course)
        self.book = open_gradebook(course)

    def __enter__(self) -> "Recorder":
        return self

    def __exit__(self, *_: object) -> None:
        self.book.close()

    def record(self, attempt: Attempt, notebook: NotebookNode) -> list[Withdrawn] | None:
        """Record an attempt and its graded notebook; return as `record_attempt` does.

        Returns None, and records nothing, if the submission is gone because its student was removed.
        nbgrader's rule for late work applies, or the one that nbgrader_config.py sets.
        """
        student, lesson = attempt.student, attempt.lesson
        with recording(self.course):
            if not Submission(self.course, student, lesson, attempt.version).folder.is_dir():
                return None
            withdrawn = record_attempt(self.course, self.book, attempt)
            row = self.book.find_submission_notebook(lesson, lesson, student)
            row.late_submission_penalty = self.penalty(student, lesson, row.score) or None
            self.book.db.commit()
            write(self.course, attempt, notebook)
        return withdrawn

    def penalty(self, student: str, lesson: str, score: float) -> float:
        """Return what the rule for late work takes off `score` points of a recorded submission."""
        late = self.book.find_submission(lesson, student).total_seconds_late
        return self._late.taken_off(student, score, late) if late else 0.0

    def apply_late_rule(self, lesson: str, student: str = "") -> dict[str, tuple[float, float]]:
        """Apply the rule for late work, for all or one, to scores, due date and time stamps as they are now.

        A person may have changed them since an attempt was recorded. Returns the points taken off before and
        now, by student, where they differ.
        """
        changed = {}
        for row in self.book.notebook_submissions(lesson, lesson):
            if student and row.student.id != student:
                continue
            submission = Submission(self.course, row.student.id, lesson, "")
            if submission.folder.is_dir():
                row.assignment.timestamp = submission_time(submission)
            before = row.late_submission_penalty or 0.0
            if not (before or row.assignment.total_seconds_late):
                continue
            now = self.penalty(row.student.id, lesson, row.score)
            if abs(now - before) > SMALLEST:
                row.late_submission_penalty = now or None
                changed[row.student.id] = (before, now)
        self.book.db.commit()
        return changed


def attach_attempt(notebook: NotebookNode, attempt: Attempt) -> None:
    """Store an attempt in the metadata of its notebook."""
    notebook.metadata[KEY] = attempt.model_dump(mode="json")


def attached_attempt(notebook: NotebookNode) -> Attempt | None:
    """Return the attempt stored in a notebook, or None if there is none."""
    stored = notebook.metadata.get(KEY)
    return Attempt.model_validate(stored) if stored is not None else None


def amend(course: Course, attempt: Attempt) -> bool:
    """Replace the newest attempt in log and folder with this version of it; scores stay as they are.

    Returns False, and changes nothing, if another attempt was recorded meanwhile. If a run is killed between
    the two, they do not agree, and the next run grades the submission again.
    """
    with recording(course):
        if not AttemptLog(course.reports).amend(attempt):
            return False
        _amend_notebook(course, attempt)
    return True


def _amend_notebook(course: Course, attempt: Attempt) -> None:
    path = course.autograded_notebook(attempt.student, attempt.lesson)
    notebook = json.loads(path.read_bytes())  # we wrote it: its form needs no check, which takes 0.1 s
    notebook["metadata"][KEY] = attempt.model_dump(mode="json")
    draft = path.with_name(f".{path.name}")
    text = json.dumps(notebook, ensure_ascii=False, indent=1, sort_keys=True)
    draft.write_text(f"{text}\n", encoding="utf-8")
    draft.chmod(READ_ONLY)
    draft.replace(path)


def write(course: Course, attempt: Attempt, notebook: NotebookNode) -> None:
    """Write the graded notebook of an attempt, the lesson's images and the time of submission.

    The files are written beside the folder and moved into place, so a killed run leaves either the
    old folder, the new one, or none.
    """
    folder = course.autograded_notebook(attempt.student, attempt.lesson).parent
    folder.parent.mkdir(parents=True, exist_ok=True)
    _remove_leftovers(folder)
    fresh = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    _fill(course, attempt, notebook, fresh)
    fresh.chmod(0o755)
    if folder.exists():
        folder.rename(fresh.with_suffix(".old"))
    fresh.rename(folder)
    _remove_leftovers(folder)


def stored_attempt(course: Course, student: str, lesson: str) -> Attempt | None:
    """Return the attempt whose notebook is in the folder, or None if there is none of ours."""
    path = course.autograded_notebook(student, lesson)
    try:
        stored = json.loads(path.read_bytes())["metadata"].get(KEY)
        return Attempt.model_validate(stored) if stored is not None else None
    except (OSError, ValueError, LookupError, AttributeError, TypeError):
        return None  # absent, torn, or written by another program


def submission_time(submission: Submission) -> datetime | None:
    """Return the time in a submission's timestamp.txt, in UTC, or None if there is none that can be read."""
    return parse_stamp(submission.submitted_at())


def parse_stamp(text: str) -> datetime | None:
    """Return the time of one of nbgrader's time stamps, in UTC, or None if it cannot be read."""
    with suppress(ValueError, OverflowError, TypeError):
        return parse_utc(text) if _STAMP.fullmatch(text) else None
    return None


def without_time(course: Course, lesson: str, students: Iterable[str]) -> list[str]:
    """Say, a line each, which submissions have no time and so are never late; nothing without a due date."""
    due = None
    with open_gradebook(course) as book, suppress(MissingEntry):
        due = book.find_assignment(lesson).duedate
    if due is None:
        return []
    lines, unstamped = list[str](), list[str]()
    for student in students:
        submission = Submission(course, student, lesson, "")
        path = submission.folder / TIMESTAMP
        if submission_time(submission) is not None:
            continue
        if os.path.lexists(path):
            lines.append(
                f"{student}: not counted as late, because {course.shown(path)} cannot be read: "
                "expected a time such as 2026-03-01 12:00:00 UTC"
            )
        else:
            unstamped.append(student)
    if unstamped:
        lines.append(
            f"{lesson}: no {TIMESTAMP} says when these were handed in, so none counts as late: "
            f"{some_of(unstamped)}"
        )
    return lines


def copy_stamps(submission: Submission, folder: Path) -> None:
    """Write the time and the secret of a submission to a folder, as far as they are well-formed."""
    if submission_time(submission) is not None:  # nbgrader's own commands end at one they cannot read
        (folder / TIMESTAMP).write_text(submission.submitted_at(), encoding="ascii")
    if secret := submission.secret():
        (folder / SECRET).write_text(secret, encoding="ascii")


def take_over_stamps(course: Course, lesson: str, student: str) -> bool:
    """Give a graded notebook the time and secret of the submission as it is now; return whether they differ.

    A student may hand in the same file again: nothing is graded, but the exchange finds feedback by these.
    """
    with recording(course):
        folder = course.autograded_notebook(student, lesson).parent
        if not folder.is_dir() or not (submission := Submission(course, student, lesson, "")).folder.is_dir():
            return False
        with tempfile.TemporaryDirectory(prefix=f".{folder.name}.", dir=folder.parent) as made:
            copy_stamps(submission, Path(made))
            changed = [name for name in (TIMESTAMP, SECRET) if not _same(folder / name, Path(made, name))]
            for name in changed:
                (folder / name).unlink(missing_ok=True)
                if (fresh := Path(made, name)).exists():
                    fresh.chmod(READ_ONLY)
                    fresh.rename(folder / name)
    return bool(changed)


def _same(one: Path, other: Path) -> bool:
    """Return whether two files hold the same, or neither is there."""
    if not (one.is_file() and other.is_file()):
        return one.exists() == other.exists()
    return one.read_bytes() == other.read_bytes()


def _fill(course: Course, attempt: Attempt, notebook: NotebookNode, folder: Path) -> None:
    nbformat.write(notebook, folder / f"{attempt.lesson}.ipynb")
    images = course.source / attempt.lesson / "images"
    if images.is_dir():
        shutil.copytree(images, folder / "images")
    copy_stamps(Submission(course, attempt.student, attempt.lesson, attempt.version), folder)
    for path in folder.rglob("*"):
        if path.is_file():
            path.chmod(READ_ONLY)


def _remove_leftovers(folder: Path) -> None:
    """Remove what a killed run left beside the folder."""
    for leftover in folder.parent.glob(f".{folder.name}.*"):
        shutil.rmtree(leftover)
