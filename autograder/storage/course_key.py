"""The course's private key, from which the inputs of every graded check are drawn.

The same key gives the same inputs, and so the same scores, at every attempt and on every machine. Who
knows it can work out the inputs, so it is never released, bundled or shown to a submission.
"""

import contextlib
import os
import secrets
import tempfile
from pathlib import Path

from autograder.model.course import Course
from autograder.model.errors import CourseError

BYTES = 32


def course_key(course: Course) -> bytes:
    """Return the key of a course; it is made on first use, readable by its owner only.

    Raises CourseError if the file holds anything else.
    """
    if not course.key.exists():
        _make(course.key)
    text = course.key.read_text(encoding="ascii", errors="replace").strip()
    with contextlib.suppress(ValueError):
        key = bytes.fromhex(text)
        if len(key) == BYTES:
            return key
    raise CourseError(
        f"{course.key} is damaged: expected {2 * BYTES} hexadecimal digits; restore it from a backup, "
        "or delete it, and every submission will be graded again on new inputs"
    )


def _make(path: Path) -> None:
    """Write a new key, whole or not at all; another process may be doing the same."""
    descriptor, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(f"{secrets.token_hex(BYTES)}\n")
        with contextlib.suppress(FileExistsError):
            os.link(draft, path)
    finally:
        Path(draft).unlink()
