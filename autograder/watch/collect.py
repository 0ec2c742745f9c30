"""Copies a submission from the inbox to the course's `submitted`, as `nbgrader collect` would.

nbgrader copies whole trees and follows links. Here only plain files are read; what is anything else
becomes a link in the copy, which the grader refuses by its name and never follows.
"""

import os
import pwd
import shutil
import tempfile
from itertools import islice
from pathlib import Path

from autograder.model.course import Course
from autograder.model.errors import SubmissionError
from autograder.submissions.file_access import read_handed_in
from autograder.submissions.notebook_file import MAX_BYTES
from autograder.watch.inbox import Arrival

MOST_FILES = 100
MOST_BESIDE = 2**20  # bytes of a file that is no notebook


def collect(course: Course, arrival: Arrival) -> None:
    """Put a submission in its place in `submitted`, in one step; what was there before is replaced."""
    target = course.submission(arrival.student, arrival.lesson).parent
    if arrival.folder.absolute() == target.absolute():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f".{arrival.lesson}.", dir=target.parent))
    try:
        with os.scandir(arrival.folder) as entries:
            for entry in islice(entries, MOST_FILES):
                _copy(Path(entry.path), draft / entry.name)
        draft.chmod(0o755)
        _replace(target, draft)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _copy(source: Path, target: Path) -> None:
    """Copy one plain file; of a notebook that is none, leave a link, and of anything else nothing."""
    is_notebook = ".ipynb" in source.name
    try:
        target.write_bytes(read_handed_in(source, MAX_BYTES if is_notebook else MOST_BESIDE))
    except SubmissionError:
        if is_notebook and not source.is_dir():
            target.symlink_to(source)


def _replace(target: Path, draft: Path) -> None:
    if os.path.lexists(target):
        old = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
        target.rename(old / "old")
        draft.rename(target)
        shutil.rmtree(old)
    else:
        draft.rename(target)


def owner_of(arrival: Arrival) -> str:
    """Return the name of the user who owns a submission; "" if the machine knows none."""
    try:
        return pwd.getpwuid(arrival.folder.lstat().st_uid).pw_name
    except (KeyError, OSError):
        return ""
