"""What a check of the machine finds: that something is fine, or what is wrong and how to fix it."""

from dataclasses import dataclass
from enum import StrEnum


class Status(StrEnum):
    """How a check ended. A problem prevents grading; a warning affects only something else."""

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True)
class Finding:
    """What a check found, in a sentence, and what to do about it."""

    status: Status
    said: str
    fix: str = ""


def ok(said: str) -> Finding:
    """Nothing has to be done."""
    return Finding(Status.OK, said)


def warning(said: str, fix: str) -> Finding:
    """Grading works, but something else does not."""
    return Finding(Status.WARNING, said, fix)


def problem(said: str, fix: str) -> Finding:
    """Grading does not work."""
    return Finding(Status.PROBLEM, said, fix)
