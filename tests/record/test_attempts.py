"""The log keeps every attempt, survives being killed while writing, and finds the newest."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from autograder.errors import CourseError
from autograder.record.attempts import Attempt, AttemptLog
from autograder.results import ExerciseReport, Outcome, Report


def attempt(
    student: str = "alice",
    lesson: str = "03_tiny",
    sha256: str = "a",
    outcome: Outcome = Outcome.PASSED,
    *,
    sandboxed: bool = True,
) -> Attempt:
    """Make an attempt with one exercise."""
    score = None if outcome.waits_for_a_person else 2.0
    done = ExerciseReport(id="double", points=2, score=score, outcome=outcome)
    report = Report(lesson=lesson, score=score or 0.0, max_score=2, exercises=[done])
    return Attempt(
        student=student,
        lesson=lesson,
        sha256=sha256,
        version="v",
        report=report,
        marked_at=datetime(2026, 1, 1, tzinfo=UTC),
        sandboxed=sandboxed,
    )


def test_what_was_appended_is_read_back_in_order(tmp_path: Path) -> None:
    """Attempts come back equal, oldest first, one JSON document a line."""
    log = AttemptLog(tmp_path / "reports")
    made = [attempt("alice"), attempt("bob"), attempt("alice", sha256="b")]
    for one in made:
        log.append(one)
    assert list(log) == made
    assert [json.loads(line)["student"] for line in log.path.read_text().splitlines()] == [
        "alice",
        "bob",
        "alice",
    ]


def test_a_log_that_is_not_there_is_empty(tmp_path: Path) -> None:
    """A course without a log has no attempts, and reading makes no file."""
    log = AttemptLog(tmp_path)
    assert (list(log), log.latest("03_tiny"), log.last("alice", "03_tiny")) == ([], {}, None)
    assert not log.path.exists()


@pytest.mark.parametrize("cut", [1, 2, 40, 100_000])
def test_a_torn_last_line_is_ignored_and_cut_off(tmp_path: Path, cut: int) -> None:
    """However much of the last line was written, the others stand and the next append is whole."""
    log = AttemptLog(tmp_path)
    first, torn, third = attempt("alice"), attempt("x" * 90_000), attempt("carl")
    log.append(first)
    log.append(torn)
    data = log.path.read_bytes()
    log.path.write_bytes(data[: -min(cut, len(data.splitlines()[1]) + 1)])
    assert list(log) == [first]
    log.append(third)
    assert list(log) == [first, third]


def test_a_torn_first_line_leaves_an_empty_log(tmp_path: Path) -> None:
    """A log that holds nothing but a torn line starts afresh."""
    log = AttemptLog(tmp_path)
    log.path.write_bytes(b'{"student":"al')
    log.append(attempt("bob"))
    assert [one.student for one in log] == ["bob"]


def test_the_newest_attempt_counts(tmp_path: Path) -> None:
    """`latest`, `last` and `find` give the newest, and keep lessons and students apart."""
    log = AttemptLog(tmp_path)
    old, new = attempt(sha256="a"), attempt(sha256="b")
    again, other = attempt(sha256="a", sandboxed=False), attempt(lesson="04_tiny", sha256="a")
    for one in (old, new, attempt("alice2"), again, other):
        log.append(one)
    assert log.latest("03_tiny") == {"alice": again, "alice2": attempt("alice2")}
    assert log.last("alice", "03_tiny") == again
    assert log.find("alice", "03_tiny", "b") == new
    assert log.find("alice", "03_tiny", "a") == again
    assert log.find("alice", "03_tiny", "c") is None


@pytest.mark.parametrize("student", ['a"b', "zoë", "名前", "tab\there", "back\\slash", "\x7f"])
def test_any_name_is_found_again(tmp_path: Path, student: str) -> None:
    """Names that JSON escapes are found by the beginning of their lines."""
    log = AttemptLog(tmp_path)
    log.append(attempt(student))
    assert log.last(student, "03_tiny") == attempt(student)


def test_a_damaged_line_is_named(tmp_path: Path) -> None:
    """A whole line that is no attempt raises, with its number and what to do."""
    log = AttemptLog(tmp_path)
    log.append(attempt())
    with log.path.open("a") as file:
        file.write("{}\n")
    with pytest.raises(CourseError, match=r"line 2 .*move the file away"):
        list(log)


def test_what_settles_a_submission() -> None:
    """Same file, same version, no fault of ours; an unsandboxed mark gives way to a sandboxed."""
    assert attempt().settles("a", "v", sandboxed=True)
    assert attempt().settles("a", "v", sandboxed=False)
    assert not attempt().settles("b", "v", sandboxed=True)
    assert not attempt().settles("a", "w", sandboxed=True)
    assert not attempt(sandboxed=False).settles("a", "v", sandboxed=True)
    assert attempt(sandboxed=False).settles("a", "v", sandboxed=False)
    assert not attempt(outcome=Outcome.GRADER_FAULT).settles("a", "v", sandboxed=True)
