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
from autograder.submissions.submission import MOST_FILES as MOST_LOOKED_AT
from autograder.submissions.submission import SECRET, TIMESTAMP
from autograder.watch.inbox import Arrival

MOST_FILES = 100
MOST_BESIDE = 2**20  # bytes of a file that is no notebook
MOST_BYTES = 2 * MAX_BYTES  # of all files together


def collect(course: Course, arrival: Arrival) -> None:
    """Put a submission in its place in `submitted`, in one step; what was there before is replaced.

    Raises OSError if its folder cannot be read, and then changes nothing.
    """
    target = course.submission(arrival.student, arrival.lesson).parent
    if arrival.folder.absolute() == target.absolute():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f".{arrival.lesson}.", dir=target.parent))
    try:
        space = MOST_BYTES
        for name in _names(arrival.folder):
            if space > 0:
                space -= _copy(arrival.folder / name, draft / name)
        draft.chmod(0o755)
        _replace(target, draft)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _names(folder: Path) -> list[str]:
    """Return the names in a folder: nbgrader's own files and notebooks first, and only so many."""
    with os.scandir(folder) as entries:
        names = [entry.name for entry in islice(entries, MOST_LOOKED_AT)]
    order = {TIMESTAMP: 0, SECRET: 0}
    names.sort(key=lambda name: (order.get(name, 1 if _is_notebook(name) else 2), name))
    return names[:MOST_FILES]


def _is_notebook(name: str) -> bool:
    return ".ipynb" in name[1:]  # as Submission has it: browsers add a (1) or a .txt


def _copy(source: Path, target: Path) -> int:
    """Copy one plain file, and return its size.

    Of a notebook that is no plain file, leave a link; of anything else that is none, nothing.
    """
    is_notebook = _is_notebook(source.name)
    try:
        return target.write_bytes(read_handed_in(source, MAX_BYTES if is_notebook else MOST_BESIDE))
    except SubmissionError:
        if is_notebook and not source.is_dir():
            target.symlink_to(source)
        return 0


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
