"""One grading of one submission, as it is recorded."""

from datetime import datetime
from typing import Final

from pydantic import Field

from autograder.model.report import Document, Outcome, Report
from autograder.model.text import clean

LONGEST_TRACEBACK: Final = 20_000  # characters: it may quote what student code raised


class Attempt(Document):
    """One grading of one submission.

    `version` is the state of lesson and grader (see `lesson_version`). `answers` holds the SHA-256
    of each answer by exercise id, `checks` the state of what graded each exercise (see
    `exercise_versions`). `changes` are those that make wrong answers right, by
    exercise, for the instructor: they quote model answers. `detail` holds tracebacks for the instructor if
    the grader itself failed.
    """

    student: str
    lesson: str
    sha256: str
    version: str
    graded_at: datetime
    sandboxed: bool
    report: Report
    answers: dict[str, str] = Field(default_factory=dict)
    checks: dict[str, str] = Field(default_factory=dict)
    changes: dict[str, str] = Field(default_factory=dict)
    detail: str = ""

    @property
    def faulty(self) -> bool:
        """Whether the grader failed on an exercise, so that grading again may do better."""
        return any(done.outcome is Outcome.GRADER_ERROR for done in self.report.exercises)

    def settles(self, sha256: str, version: str, *, sandboxed: bool) -> bool:
        """Return whether grading a file with this digest again would give nothing new."""
        same = (self.sha256, self.version) == (sha256, version)
        return same and not self.faulty and (self.sandboxed or not sandboxed)


def describe_errors(tracebacks: dict[str, str]) -> str:
    """Return tracebacks, keyed by exercise id, as the text of `Attempt.detail`."""
    return "\n\n".join(
        f"[{exercise}]\n{clean(text, LONGEST_TRACEBACK)}" for exercise, text in tracebacks.items()
    )
