"""The folder autograded/<student>/<lesson>, as nbgrader keeps it, replaced in one step."""

import json
import shutil
import tempfile
from datetime import datetime
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbgrader.utils import parse_utc

from autograder.course import Course
from autograder.record.attempts import Attempt
from autograder.record.pages import attempt_of

TIMESTAMP = "timestamp.txt"
READ_ONLY = 0o444  # as nbgrader leaves what it has marked


def write(course: Course, attempt: Attempt, page: NotebookNode) -> Path:
    """Write the marked notebook, the lesson's images and the time of submission.

    Everything is written beside the folder and moved into its place, so that a killed run leaves
    the old one, the new one, or none. Returns the notebook's path.
    """
    folder = course.autograded / attempt.student / attempt.lesson
    folder.parent.mkdir(parents=True, exist_ok=True)
    _sweep(folder)
    fresh = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    _fill(course, attempt, page, fresh)
    fresh.chmod(0o755)
    if folder.exists():
        folder.rename(fresh.with_suffix(".old"))
    fresh.rename(folder)
    _sweep(folder)
    return folder / f"{attempt.lesson}.ipynb"


def stored_attempt(course: Course, student: str, lesson: str) -> Attempt | None:
    """Return the attempt whose notebook lies in the folder; None where there is none of ours."""
    path = course.autograded / student / lesson / f"{lesson}.ipynb"
    try:
        return attempt_of(nbformat.from_dict(json.loads(path.read_bytes())))
    except (OSError, ValueError, AttributeError):  # absent, half written, or of another make
        return None


def handed_in(course: Course, student: str, lesson: str) -> datetime | None:
    """Return the time in the submission's timestamp.txt, in UTC; None where there is none."""
    path = course.submission(student, lesson).with_name(TIMESTAMP)
    if path.is_symlink() or not path.is_file():
        return None
    try:
        time: datetime = parse_utc(path.read_text(encoding="utf-8").strip())
    except (ValueError, OverflowError):
        return None
    return time


def _fill(course: Course, attempt: Attempt, page: NotebookNode, folder: Path) -> None:
    nbformat.write(page, folder / f"{attempt.lesson}.ipynb")
    images = course.source / attempt.lesson / "images"
    if images.is_dir():
        shutil.copytree(images, folder / "images")
    stamp = course.submission(attempt.student, attempt.lesson).with_name(TIMESTAMP)
    if stamp.is_file() and not stamp.is_symlink():
        shutil.copyfile(stamp, folder / TIMESTAMP)
    for path in folder.rglob("*"):
        if path.is_file():
            path.chmod(READ_ONLY)


def _sweep(folder: Path) -> None:
    """Remove what a killed run left beside the folder."""
    for leftover in folder.parent.glob(f".{folder.name}.*"):
        shutil.rmtree(leftover)
