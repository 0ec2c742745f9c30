"""What travels to a worker on another machine, and what comes back: text and bytes, never an object.

A task holds the lesson's text and release, its key and one submitted file. The student's name
stays at home. An answer holds the attempt as JSON and the text of the graded notebook, or says why
there is none.
"""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import nbformat

from autograder.grading.grade_submission import Result
from autograder.model import errors
from autograder.model.course import Course
from autograder.model.errors import AutograderError, CourseError, SubmissionError
from autograder.model.report import Report
from autograder.storage.attempts import Attempt
from autograder.storage.course_key import lesson_key
from autograder.submissions.file_access import read_handed_in
from autograder.submissions.notebook_file import MAX_BYTES
from autograder.submissions.submission import Submission

DIED = b"{}"  # the answer if the grading process ended or took too long


@dataclass(frozen=True)
class Task:
    """One submission to grade: `head` is JSON, `data` the submitted file as it is.

    Neither appears in the representation, which dask writes to its logs.
    """

    head: bytes = field(repr=False)
    data: bytes = field(repr=False)


@dataclass(frozen=True)
class Head:
    """What a worker has to know besides the file.

    `name` is the file's name, and '' if there is no file to grade; then `problem` names the error, and
    `reason` is its text. `settled` is the JSON of a report, '' for none.
    """

    lesson: str
    version: str
    sandboxed: bool
    text: str
    release: str
    key: str
    sha256: str
    name: str
    problem: str
    reason: str
    repairs: list[str]
    settled: str

    @classmethod
    def read(cls, head: bytes) -> "Head":
        """Return what `make_task` packed."""
        return cls(**json.loads(head))

    def error(self) -> SubmissionError:
        """Return the error for a submission without a file to grade."""
        kind = getattr(errors, self.problem)
        error = kind(self.reason)
        assert isinstance(error, SubmissionError)
        return error


@dataclass(frozen=True)
class SentSubmission(Submission):
    """A submission on a worker: its file was found, and read, by the process that sent it."""

    head: Head = field(kw_only=True, compare=False)

    def sha256(self) -> str:
        """Return the digest of the file where it came from."""
        return self.head.sha256

    def require_file(self) -> Path:
        """Return the path of the file here. Raises the error that came with the task."""
        if not self.head.name:
            raise self.head.error()
        return self.course.submission(self.student, self.lesson).with_name(self.head.name)

    def repairs(self, path: Path) -> Iterator[str]:  # noqa: ARG002 - the signature is Submission's
        """Yield what the sender noted about the file."""
        yield from self.head.repairs


def make_task(submission: Submission, *, sandboxed: bool) -> Task:
    """Return the task for a submission, with its file or the reason why there is none to grade."""
    course, lesson = submission.course, submission.lesson
    found, data = _found(submission)
    head = Head(
        lesson=lesson,
        version=submission.version,
        sandboxed=sandboxed,
        text=course.text(lesson).read_bytes().decode(),
        release=course.release_notebook(lesson).read_bytes().decode(),
        key=lesson_key(course, lesson).hex(),
        settled=submission.settled.model_dump_json() if submission.settled else "",
        **found,
    )
    return Task(json.dumps(asdict(head)).encode(), data)


def _found(submission: Submission) -> tuple[dict[str, Any], bytes]:
    """Return the fields that describe the submitted file, and its content."""
    found: dict[str, Any] = {"name": "", "problem": "", "reason": "", "repairs": []}
    try:
        path = submission.require_file()
        data = read_handed_in(path, MAX_BYTES, submission.course)
        repairs = list(submission.repairs(path))
    except SubmissionError as error:
        named = {"problem": type(error).__name__, "reason": str(error)}
        return found | named | {"sha256": submission.sha256()}, b""
    digest = hashlib.sha256(data).hexdigest()
    return found | {"name": path.name, "repairs": repairs, "sha256": digest}, data


def received(head: Head, course: Course, student: str) -> SentSubmission:
    """Return the submission that a worker grades, in a course of its own."""
    settled = Report.model_validate_json(head.settled) if head.settled else None
    return SentSubmission(course, student, head.lesson, head.version, settled, head=head)


def make_answer(result: Result) -> bytes:
    """Return the answer for a graded submission."""
    attempt, notebook = result
    document = {"attempt": attempt.model_dump_json(), "notebook": json.dumps(notebook)}
    return json.dumps(document).encode()


def make_refusal(error: AutograderError) -> bytes:
    """Return the answer of a worker that cannot grade anything."""
    return json.dumps({"refused": type(error).__name__, "message": str(error)}).encode()


def read_answer(answer: bytes, submission: Submission, worker: str) -> Result | None:
    """Return the result of a submission, and None if the process that graded it died.

    Raises the AutograderError with which a worker refused, or CourseError for an answer to some other
    question.
    """
    document = json.loads(answer)
    if "refused" in document:
        kind = getattr(errors, document["refused"], CourseError)
        kind = kind if kind in (errors.SandboxMissingError, CourseError) else CourseError
        raise kind(f"worker {worker} refuses to grade: {document['message']}")
    if "attempt" not in document:
        return None
    attempt = Attempt.model_validate_json(document["attempt"])
    if (attempt.lesson, attempt.version) != (submission.lesson, submission.version):
        raise CourseError(f"worker {worker} graded another lesson, or another version of it")
    notebook = nbformat.from_dict(json.loads(document["notebook"]))
    return attempt.model_copy(update={"student": submission.student}), notebook
