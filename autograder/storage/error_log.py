"""reports/grader-errors.log: what went wrong inside the grader, for the instructor alone.

A traceback may quote the model answer, so it never becomes part of a report that students read.
"""

from datetime import datetime
from pathlib import Path

from autograder.model.text import clean
from autograder.storage.attempts import Attempt

FILE = "grader-errors.log"
LONGEST = 20_000  # characters of one traceback: it may quote what student code raised


def describe(tracebacks: dict[str, str]) -> str:
    """Return tracebacks, keyed by exercise id, as the text of `Attempt.detail`."""
    return "\n\n".join(f"[{exercise}]\n{clean(text, LONGEST)}" for exercise, text in tracebacks.items())


def log_errors(folder: Path, attempt: Attempt) -> None:
    """Append student, lesson and tracebacks to the log in `folder`, if the grader failed."""
    if attempt.detail:
        subject = f"{attempt.student}, {attempt.lesson}"
        log_error(folder, attempt.graded_at, subject, attempt.detail)


def log_error(folder: Path, at: datetime, subject: str, detail: str) -> Path:
    """Append what went wrong, when and on what, to the log in `folder`; return the log's path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / FILE
    with path.open("a", encoding="utf-8") as file:
        file.write(f"=== {at:%Y-%m-%d %H:%M:%S} UTC, {clean(subject)}\n{detail}\n\n")
    return path
