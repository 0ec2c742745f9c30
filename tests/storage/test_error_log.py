"""Tracebacks of the grader are kept for the instructor, and nowhere else."""

from pathlib import Path

from autograder.model.report import Outcome
from autograder.storage.error_log import FILE, describe, log_errors

from .test_attempts import attempt


def test_each_error_is_logged_with_student_lesson_and_exercise(tmp_path: Path) -> None:
    """Entries are appended; an attempt without errors adds nothing."""
    faulty = attempt("bob", outcome=Outcome.GRADER_FAULT)
    detail = describe({"double": "Traceback\nKeyError: 'x'\n", "halve": "ValueError"})
    log_errors(tmp_path / "reports", attempt())
    assert not (tmp_path / "reports").exists()
    log_errors(tmp_path / "reports", faulty.model_copy(update={"detail": detail}))
    log_errors(tmp_path / "reports", faulty.model_copy(update={"detail": describe({"why": "Oh"})}))
    assert (tmp_path / "reports" / FILE).read_text() == (
        "=== 2026-01-01 00:00:00 UTC, bob, 03_tiny\n"
        "[double]\nTraceback\nKeyError: 'x'\n\n[halve]\nValueError\n\n"
        "=== 2026-01-01 00:00:00 UTC, bob, 03_tiny\n[why]\nOh\n\n"
    )
