"""The log keeps every attempt, finds the newest, and imports and exports JSON lines."""

import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from autograder.model.attempt import Attempt, describe_errors
from autograder.model.course import ERROR_LOG
from autograder.model.errors import CourseError
from autograder.model.report import ExerciseReport, Outcome, Report
from autograder.storage import attempts
from autograder.storage.attempts import HOUR, AttemptLog, Spent, log_error, seconds_to_wait


def attempt(
    student: str = "alice",
    lesson: str = "03_tiny",
    sha256: str = "a",
    outcome: Outcome = Outcome.PASSED,
    *,
    sandboxed: bool = True,
) -> Attempt:
    """Make an attempt with one exercise."""
    score = None if outcome.is_pending else 2.0
    done = ExerciseReport(id="double", points=2, score=score, outcome=outcome)
    report = Report(lesson=lesson, score=score or 0.0, max_score=2, exercises=[done])
    return Attempt(
        student=student,
        lesson=lesson,
        sha256=sha256,
        version="v",
        report=report,
        graded_at=datetime(2026, 1, 1, tzinfo=UTC),
        sandboxed=sandboxed,
    )


def test_attempts_are_read_back_in_order(tmp_path: Path) -> None:
    """Attempts come back equal, oldest first."""
    log = AttemptLog(tmp_path / "reports")
    made = [attempt("alice"), attempt("bob"), attempt("alice", sha256="b")]
    for one in made:
        log.append(one)
    assert list(AttemptLog(tmp_path / "reports")) == made


def test_a_new_log_is_empty(tmp_path: Path) -> None:
    """A course without a log has no attempts."""
    log = AttemptLog(tmp_path)
    assert (list(log), log.latest("03_tiny"), log.last("alice", "03_tiny")) == ([], {}, None)


def test_the_newest_attempt_counts(tmp_path: Path) -> None:
    """`latest` and `last` return the newest, and keep lessons and students apart."""
    log = AttemptLog(tmp_path)
    old, new = attempt(sha256="a"), attempt(sha256="b")
    again, other = attempt(sha256="a", sandboxed=False), attempt(lesson="04_tiny", sha256="a")
    for one in (old, new, attempt("alice2"), again, other):
        log.append(one)
    assert log.latest("03_tiny") == {"alice": again, "alice2": attempt("alice2")}
    assert log.last("alice", "03_tiny") == again
    assert log.last("alice", "04_tiny") == other
    assert log.last("bob", "03_tiny") is None


@pytest.mark.parametrize("query", [attempts._LATEST, attempts._LAST])
def test_finding_the_newest_scans_nothing(tmp_path: Path, query: str) -> None:
    """Both queries use an index."""
    log = AttemptLog(tmp_path)
    log.append(attempt())
    with closing(sqlite3.connect(log.path)) as database:
        plan = database.execute(f"EXPLAIN QUERY PLAN {query}", ["x"] * query.count("?")).fetchall()
    assert not [row for row in plan if str(row[3]).startswith("SCAN attempts")]


@pytest.mark.parametrize("student", ['a"b', "zoë", "名前", "tab\there", "back\\slash", "\x7f", "a'; --"])
def test_any_name_is_found_again(tmp_path: Path, student: str) -> None:
    """Names may contain quotes, controls and any script."""
    log = AttemptLog(tmp_path)
    log.append(attempt(student))
    assert log.last(student, "03_tiny") == attempt(student)


def test_the_export_holds_one_document_per_line(tmp_path: Path) -> None:
    """Exporting twice gives the same file: all attempts, oldest first, no draft left over."""
    log = AttemptLog(tmp_path)
    for one in (attempt("alice"), attempt("bob"), attempt("alice", sha256="b")):
        log.append(one)
    log.export()
    log.export()
    lines = log.export_path.read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["student"] for line in lines] == ["alice", "bob", "alice"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["attempts.db", "attempts.jsonl"]


def test_a_damaged_attempt_is_named(tmp_path: Path) -> None:
    """A row that isn't an attempt raises, with its number and what to do."""
    log = AttemptLog(tmp_path)
    log.append(attempt())
    log.append(attempt("bob"))
    with closing(sqlite3.connect(log.path)) as database, database:
        database.execute("UPDATE attempts SET document = '{}' WHERE student = 'bob'")
    with pytest.raises(CourseError, match=r"attempts.db, attempt 2 .*repair it"):
        list(log)
    assert log.last("alice", "03_tiny") == attempt()


def test_a_full_disk_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An attempt for which there is no room raises a plain error; the others stay."""
    log = AttemptLog(tmp_path)
    log.append(attempt())

    class Full(sqlite3.Connection):
        """Refuses to grow, as on a full disk."""

        def __init__(self, *args: object, **kw: object) -> None:
            super().__init__(*args, **kw)  # type: ignore[arg-type]
            self.execute("PRAGMA max_page_count = 1")

    with monkeypatch.context() as patched:
        connect = sqlite3.connect
        patched.setattr(attempts.sqlite3, "connect", lambda *a, **k: connect(*a, **k, factory=Full))
        with pytest.raises(CourseError, match=r"attempts.db cannot be used: database or disk is full; fix"):
            log.append(attempt("x" * 90_000))
    log.append(attempt("bob"))
    assert [one.student for one in log] == ["alice", "bob"]


def test_a_file_that_is_no_database_is_named(tmp_path: Path) -> None:
    """The error is one plain line."""
    log = AttemptLog(tmp_path)
    log.path.write_bytes(b"not a database " * 100)
    with pytest.raises(CourseError, match=r"attempts.db cannot be used: file is not a database") as told:
        list(log)
    assert "\n" not in str(told.value)


def test_a_locked_log_is_waited_for_and_then_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another program that never ends its transaction stops the run with a plain error."""
    monkeypatch.setattr(attempts, "PATIENCE", 0.1)
    log = AttemptLog(tmp_path)
    log.append(attempt())
    with closing(sqlite3.connect(log.path)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(CourseError, match=r"attempts.db cannot be used: database is locked"):
            log.append(attempt("bob"))
    log.append(attempt("carl"))
    assert [one.student for one in log] == ["alice", "carl"]


def test_what_settles_a_submission() -> None:
    """Same file and version, no grader error; a sandboxed run replaces an unsandboxed score."""
    assert attempt().settles("a", "v", sandboxed=True)
    assert attempt().settles("a", "v", sandboxed=False)
    assert not attempt().settles("b", "v", sandboxed=True)
    assert not attempt().settles("a", "w", sandboxed=True)
    assert not attempt(sandboxed=False).settles("a", "v", sandboxed=True)
    assert attempt(sandboxed=False).settles("a", "v", sandboxed=False)
    assert not attempt(outcome=Outcome.GRADER_ERROR).settles("a", "v", sandboxed=True)


def test_a_students_attempts_are_found_by_lesson_oldest_first(tmp_path: Path) -> None:
    """And nobody else's."""
    log = AttemptLog(tmp_path)
    for made in (attempt(sha256="1"), attempt("bob"), attempt(lesson="04_x"), attempt(sha256="2")):
        log.append(made)
    found = log.of_student("alice")
    assert {lesson: [each.sha256 for each in made] for lesson, made in found.items()} == {
        "03_tiny": ["1", "2"],
        "04_x": ["a"],
    }
    assert log.of_student("nobody") == {}


def test_each_error_is_logged_with_its_subject_and_exercise(tmp_path: Path) -> None:
    """Entries are appended to a log for the instructor."""
    at = datetime(2026, 1, 1, tzinfo=UTC)
    for found in ({"double": "Traceback\nKeyError: 'x'\n", "halve": "ValueError"}, {"why": "Oh"}):
        path = log_error(tmp_path / "reports", at, "bob, 03_tiny", describe_errors(found))
    assert path == tmp_path / "reports" / ERROR_LOG
    assert path.read_text() == (
        "=== 2026-01-01 00:00:00 UTC, bob, 03_tiny\n"
        "[double]\nTraceback\nKeyError: 'x'\n\n[halve]\nValueError\n\n"
        "=== 2026-01-01 00:00:00 UTC, bob, 03_tiny\n[why]\nOh\n\n"
    )


@pytest.mark.parametrize(
    ("spent", "waits"),
    [
        ([], 0),
        ([Spent(-100, 1, 5), Spent(-50, 1, 5)], 0),
        ([Spent(-100, 1, 5), Spent(-50, 1, 5), Spent(-10, 1, 5)], HOUR - 100),
        ([Spent(-100, 1, 5), Spent(-50, 0, 5), Spent(-10, 0, 5), Spent(-9, 1, 5)], 0),
        ([Spent(-100, 1, 40), Spent(-50, 1, 80)], HOUR - 100),
        ([Spent(-100, 0, 40), Spent(-50, 1, 200)], HOUR - 50),
    ],
)
def test_a_student_waits_for_attempts_and_for_time(
    spent: list[Spent], waits: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until so much of the last hour is over that fewer than three attempts and 100 seconds remain."""
    monkeypatch.setattr(attempts.time, "time", lambda: 0.0)
    assert seconds_to_wait(spent, 3, 100) == waits
