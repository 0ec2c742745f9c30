"""The course's private key, and the key of each lesson, from which the inputs of graded checks are drawn.

The same key gives the same inputs, and so the same scores, at every attempt and on every machine. Who
knows it can work out the inputs, so it is never released, bundled or shown to a submission. A machine
that grades one lesson gets that lesson's key, from which no other can be worked out.
"""

import contextlib
import hmac
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
    return _read(course.key)


def lesson_key(course: Course, lesson: str) -> bytes:
    """Return the key of a lesson: derived from the course's, or, where only that was sent, its own.

    It is the HMAC of the lesson's name with SHA-256 (RFC 2104). Raises CourseError if the file with the key
    holds anything else.
    """
    sent = course.lesson_key(lesson)
    if sent.exists():
        return _read(sent)
    return hmac.digest(course_key(course), lesson.encode(), "sha256")


def _read(path: Path) -> bytes:
    """Read the key from a file. Raises CourseError if the file holds no key."""
    text = path.read_text(encoding="ascii", errors="replace").strip()
    with contextlib.suppress(ValueError):
        key = bytes.fromhex(text)
        if len(key) == BYTES:
            return key
    raise CourseError(
        f"{path} is damaged: expected {2 * BYTES} hexadecimal digits; restore it from a backup, "
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
