"""The log of attempts: every marking of every submission, one JSON document a line, only added to.

A line counts once its newline is there. A run that was killed while writing leaves a torn last
line: reading ignores it, the next append cuts it off.
"""

import fcntl
import os
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import BinaryIO

from pydantic import Field, ValidationError
from pydantic_core import to_json

from autograder.errors import CourseError
from autograder.results import Document, Outcome, Report

FILE = "attempts.jsonl"


class Attempt(Document):
    """One marking of one submission.

    `version` is the state of lesson and grader (see `lesson_version`), `answers` the SHA-256 of
    each exercise's answer, by exercise id, `detail` a traceback for the instructor where the
    grader itself failed, `seed` what the inputs were drawn from, where the marker says.
    """

    student: str
    lesson: str
    sha256: str
    version: str
    marked_at: datetime
    sandboxed: bool
    seed: int | None = None
    report: Report
    answers: dict[str, str] = Field(default_factory=dict)
    detail: str = ""

    @property
    def faulty(self) -> bool:
        """Whether the grader failed somewhere, so that marking again may do better."""
        return any(done.outcome is Outcome.GRADER_FAULT for done in self.report.exercises)

    def settles(self, sha256: str, version: str, *, sandboxed: bool) -> bool:
        """Whether marking a file of this digest again, in this way, could tell nothing new."""
        same = (self.sha256, self.version) == (sha256, version)
        return same and not self.faulty and (self.sandboxed or not sandboxed)


class AttemptLog:
    """The attempts of a course, in the order they were made."""

    def __init__(self, folder: Path) -> None:
        """Keep the log in `folder`, a course's `reports`; it is made when first needed."""
        self.path = folder / FILE

    def append(self, attempt: Attempt) -> None:
        """Add one attempt: on the disk when this returns, whole or not at all."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        line = attempt.model_dump_json().encode() + b"\n"
        with self.path.open("a+b", buffering=0) as file:
            fcntl.flock(file, fcntl.LOCK_EX)  # nbgrader's own command may be marking as well
            _cut_torn_line(file)
            _write_whole(file, line)
            os.fsync(file.fileno())

    def __iter__(self) -> Iterator[Attempt]:
        """Yield all attempts, oldest first. Raises CourseError for a line that is none."""
        return (self._parsed(line, number) for number, line in self._lines())

    def latest(self, lesson: str) -> dict[str, Attempt]:
        """Return the newest attempt of each student at one lesson, by student."""
        return {attempt.student: attempt for attempt in self if attempt.lesson == lesson}

    def find(self, student: str, lesson: str, sha256: str) -> Attempt | None:
        """Return the newest attempt at one lesson with a file of this digest, if there is one."""
        found = [a for a in self._of(student, lesson) if a.sha256 == sha256]
        return found[-1] if found else None

    def last(self, student: str, lesson: str) -> Attempt | None:
        """Return a student's newest attempt at one lesson, if there is one."""
        found = list(self._of(student, lesson))
        return found[-1] if found else None

    def _of(self, student: str, lesson: str) -> Iterator[Attempt]:
        """Yield one student's attempts at one lesson; other lines are told by how they begin."""
        start = to_json({"student": student, "lesson": lesson})[:-1]
        return (
            self._parsed(line, number) for number, line in self._lines() if line.startswith(start)
        )

    def _lines(self) -> Iterator[tuple[int, bytes]]:
        """Yield the number and text of every whole line."""
        if not self.path.is_file():
            return
        with self.path.open("rb") as file:
            yield from (
                (number, line) for number, line in enumerate(file, start=1) if line.endswith(b"\n")
            )

    def _parsed(self, line: bytes, number: int) -> Attempt:
        try:
            return Attempt.model_validate_json(line)
        except ValidationError as error:
            raise CourseError(
                f"{self.path}, line {number} is no attempt that this version wrote: move the file "
                "away to start a new log (the gradebook keeps its marks), or mend the line"
            ) from error


def _cut_torn_line(file: BinaryIO) -> None:
    """Cut off what stands after the last newline."""
    end = file.seek(0, os.SEEK_END)
    while end and (step := min(end, 65536)):
        file.seek(end - step)
        newline = file.read(step).rfind(b"\n")
        if newline >= 0:
            end = end - step + newline + 1
            break
        end -= step
    file.truncate(end)


def _write_whole(file: BinaryIO, line: bytes) -> None:
    """Write all of `line`; a full disk shows as OSError, after which the torn line is ignored."""
    rest = memoryview(line)
    while rest:
        rest = rest[file.write(rest) :]
