"""An attempt reaches every place that keeps it, and a kill in between does no harm.

The autograded folder is replaced in one step, and holds what nbgrader expects there.
"""

import datetime as dt
import errno
import os
import stat
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import nbformat
import pytest
from nbgrader.api import Gradebook
from tiny_course import LESSON, RIGHT, FakeGrader, cell_text, hand_in
from tiny_fixtures import ReadGrades

from autograder.grading.grade_submission import Result, grade_submission
from autograder.model.attempt import Attempt
from autograder.model.course import Course
from autograder.model.errors import SettingsError
from autograder.reports.formgrader import graded_notebook
from autograder.storage import locks, recorder
from autograder.storage.attempts import ERROR_LOG, AttemptLog
from autograder.storage.recorder import Recorder
from autograder.submissions.submission import Submission


def result(course: Course, **answers: str) -> Result:
    """Hand in and grade."""
    hand_in(course, "alice", **answers)
    submission = Submission(course, "alice", LESSON, "v")
    return grade_submission(FakeGrader(course), submission, sandboxed=True)


def keep(course: Course, made: Result) -> None:
    """Record in a recorder of its own, as a run does."""
    attempt, notebook = made
    with Recorder(course) as open_recorder:
        open_recorder.record(attempt, graded_notebook(notebook, attempt))


def write(course: Course, **answers: str) -> Attempt:
    """Hand in, grade and write to the folder."""
    attempt, notebook = result(course, **answers)
    recorder.write(course, attempt, graded_notebook(notebook, attempt))
    return attempt


def test_gradebook_log_and_folder_agree(course: Course, grades: ReadGrades) -> None:
    """The same attempt is in all three."""
    made = result(course, **RIGHT)
    keep(course, made)
    assert grades("alice")["double-test"] == (8.0, None, False)
    assert recorder.stored_attempt(course, "alice", LESSON) == made[0]
    assert list(AttemptLog(course.reports)) == [made[0]]


def test_an_amended_attempt_is_in_log_and_folder(course: Course) -> None:
    """Nothing else of the notebook changes, and its file looks as nbformat writes it."""
    made = result(course, double="# half “quoted”")
    keep(course, made)
    path = course.autograded_notebook("alice", LESSON)
    before = nbformat.read(path, as_version=4)
    more = made[0].model_copy(update={"changes": {"double": "- “half”"}})
    recorder.amend(course, more)
    assert recorder.stored_attempt(course, "alice", LESSON) == more
    assert list(AttemptLog(course.reports)) == [more]
    recorder.attach_attempt(before, more)
    assert path.read_text(encoding="utf-8") == f"{nbformat.writes(before)}\n"
    assert not path.stat().st_mode & 0o222


def test_what_was_searched_takes_no_newer_attempts_place(course: Course) -> None:
    """A class run may grade a submission again while a watch still looks for the line in it."""
    first, second = result(course, double="# half"), result(course, **RIGHT)
    keep(course, first)
    keep(course, second)
    assert not recorder.amend(course, first[0].model_copy(update={"changes": {"double": "- half"}}))
    assert recorder.stored_attempt(course, "alice", LESSON) == second[0]
    assert list(AttemptLog(course.reports)) == [first[0], second[0]]


def test_two_programs_record_one_after_the_other(course: Course) -> None:
    """Each writes its gradebook's row, log and folder in one go, whoever else records the same submission."""
    made = result(course, **RIGHT)
    with ThreadPoolExecutor(1) as other:
        with locks.recording(course):
            waits = other.submit(keep, course, made)
            with pytest.raises(TimeoutError):
                waits.result(timeout=0.5)
            assert recorder.stored_attempt(course, "alice", LESSON) is None
        waits.result(timeout=60)
    assert recorder.stored_attempt(course, "alice", LESSON) == made[0]


@pytest.mark.parametrize(("umask", "mode"), [(0o002, 0o664), (0o022, 0o644)], ids=oct)
def test_a_lock_may_be_opened_by_all_who_share_the_course(course: Course, umask: int, mode: int) -> None:
    """The umask says who: its file has the rights of any other."""
    before = os.umask(umask)
    try:
        with locks.only_one(course, "grade"):
            assert stat.S_IMODE((course.reports / "grade.lock").stat().st_mode) == mode
    finally:
        os.umask(before)


def test_a_lock_is_free_again_on_a_disk_without_flock(course: Course, monkeypatch: pytest.MonkeyPatch) -> None:
    """There the file itself is the lock: nothing may be left of it when a command has ended."""

    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr("fcntl.flock", refuse)
    for _ in range(2):
        with warnings.catch_warnings(action="ignore"), locks.only_one(course, "grade"):
            assert (course.reports / "grade.lock").exists()


def test_a_grader_error_is_logged(course: Course) -> None:
    """Its traceback is in the attempt and in the log for the instructor, but not in the report."""
    attempt, notebook = result(course, double="# fault", halve="# right")
    keep(course, (attempt, notebook))
    assert "KeyError: 'double broke'" in attempt.detail
    assert "alice, 03_tiny\n[double]\nKeyError: 'double broke'" in (course.reports / ERROR_LOG).read_text()
    assert "KeyError" not in attempt.report.model_dump_json()


@pytest.mark.parametrize("place", ["log", "folder"])
def test_killed_before_the_end_and_done_again(
    course: Course, book: Gradebook, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """A score given by hand to the earlier answer is gone, wherever the first try was cut short."""
    first, second = result(course, why="First."), result(course, why="Second.")
    keep(course, first)
    book.find_grade("why", LESSON, LESSON, "alice").manual_score = 2.0
    book.db.commit()
    with monkeypatch.context() as patched:
        broken = "append" if place == "log" else "write"
        owner = AttemptLog if place == "log" else recorder
        patched.setattr(owner, broken, _killed)
        with pytest.raises(KeyboardInterrupt):
            keep(course, second)
    keep(course, second)
    book.db.expire_all()
    grade = book.find_grade("why", LESSON, LESSON, "alice")
    assert (grade.manual_score, grade.needs_manual_grade) == (None, True)
    assert recorder.stored_attempt(course, "alice", LESSON) == second[0]


def test_a_grader_error_in_between_does_not_make_an_answer_another(course: Course, book: Gradebook) -> None:
    """The next file is compared with the answers that the file before it had, as far as they were ever read."""
    first, again = result(course, **RIGHT), result(course, **RIGHT | {"double": "# other"})
    failed = first[0].model_copy(update={"answers": {}})
    keep(course, first)
    keep(course, (failed, first[1]))
    for cell in ("why", "double-test"):
        book.find_grade(cell, LESSON, LESSON, "alice").manual_score = 1.0
    book.db.commit()
    with recorder.Recorder(course) as recording:
        withdrawn = recording.record(again[0], graded_notebook(again[1], again[0]))
    assert [each.exercise for each in withdrawn] == ["double"]


def _killed(*_: object) -> None:
    raise KeyboardInterrupt


def test_late_work_is_penalised_as_the_course_says(course: Course, book: Gradebook) -> None:
    """The rule in nbgrader_config.py applies: here, late work gets no points."""
    with (course.root / "nbgrader_config.py").open("a") as config:
        config.write('\nc.LateSubmissionPlugin.penalty_method = "zero"\n')
    book.find_assignment(LESSON).duedate = dt.datetime(2026, 1, 1)
    book.db.commit()
    made = result(course, **RIGHT)
    hand_in(course, "alice").with_name("timestamp.txt").write_text("2026-01-02 00:00:00 UTC")
    keep(course, made)
    notebook = book.find_submission_notebook(LESSON, LESSON, "alice")
    assert (notebook.score, notebook.late_submission_penalty) == (18.0, 18.0)
    hand_in(course, "alice").with_name("timestamp.txt").write_text("2025-12-31 00:00:00 UTC")
    keep(course, made)
    book.db.expire_all()
    assert notebook.late_submission_penalty is None


@pytest.mark.parametrize("name", ["no_such_module.Rule", "json.JSONDecoder", "json.no_such_class"])
def test_an_unusable_rule_for_late_work_is_reported_before_anything_is_recorded(course: Course, name: str) -> None:
    """Not at the first late submission, and in one line."""
    with (course.root / "nbgrader_config.py").open("a") as config:
        config.write(f"\nc.AssignLatePenalties.plugin_class = {name!r}\n")
    with pytest.raises(SettingsError, match=r"nbgrader_config\.py cannot be used: ") as refused:
        Recorder(course)
    assert "\n" not in str(refused.value)
    assert " at 0x" not in str(refused.value)


RULE = """
from nbgrader.plugins import LateSubmissionPlugin

class Rule(LateSubmissionPlugin):
    def late_submission_penalty(self, student_id, score, total_seconds_late):
        {}

c.AssignLatePenalties.plugin_class = Rule
"""


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ('return "2"', "expected a number of points or None, got '2'"),
        ('return float("nan")', "expected a number of points or None, got nan"),
        ("return True", "expected a number of points or None, got True"),
        ("return score / 0", "it stops with ZeroDivisionError: float division by zero"),
    ],
)
def test_a_rule_for_late_work_that_fails_is_reported_in_one_line(
    course: Course, book: Gradebook, body: str, said: str
) -> None:
    """Its result is refused unless it is a number or None, and the submission is graded again by the next run."""
    _with_rule(course, book, body)
    made = result(course, **RIGHT)
    with pytest.raises(SettingsError, match=r"the rule for late work in .*nbgrader_config\.py cannot be used: ") as failed:
        keep(course, made)
    assert str(failed.value).endswith(said)
    assert recorder.stored_attempt(course, "alice", LESSON) is None


@pytest.mark.parametrize(("body", "taken"), [("return None", None), ("return -1", None), ("return 2", 2.0), ("return 99.0", 18.0)])
def test_a_rule_for_late_work_takes_off_no_more_than_there_is(
    course: Course, book: Gradebook, body: str, taken: float | None
) -> None:
    """A whole number of points is a number too."""
    _with_rule(course, book, body)
    keep(course, result(course, **RIGHT))
    assert book.find_submission_notebook(LESSON, LESSON, "alice").late_submission_penalty == taken


def _with_rule(course: Course, book: Gradebook, body: str) -> None:
    """Set a rule for late work, and hand in a day late."""
    with (course.root / "nbgrader_config.py").open("a") as config:
        config.write(RULE.format(body))
    book.find_assignment(LESSON).duedate = dt.datetime(2026, 1, 1)
    book.db.commit()
    hand_in(course, "alice", **RIGHT).with_name("timestamp.txt").write_text("2026-01-02 00:00:00 UTC")


def test_notebook_images_and_timestamp_are_there(course: Course) -> None:
    """No other file of the submission gets there."""
    (course.source / LESSON / "images").mkdir()
    (course.source / LESSON / "images" / "square.svg").write_text("<svg/>")
    beside = hand_in(course, "alice").parent
    (beside / "timestamp.txt").write_text("2026-01-02 03:04:05 UTC")
    (beside / "data.bin").write_bytes(b"x")
    write(course, **RIGHT)
    folder = course.autograded / "alice" / LESSON
    found = sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())
    assert found == [f"{LESSON}.ipynb", "images/square.svg", "timestamp.txt"]
    assert recorder.submission_time(Submission(course, "alice", LESSON, "v")) == dt.datetime(2026, 1, 2, 3, 4, 5)


def test_a_newer_notebook_replaces_the_older(course: Course) -> None:
    """Only the newest is there, with nothing beside it, not even what a killed run left."""
    first = write(course, double="# right first")
    assert recorder.stored_attempt(course, "alice", LESSON) == first
    (course.autograded / "alice" / f".{LESSON}.killed").mkdir()
    second = write(course, double="# right second")
    assert recorder.stored_attempt(course, "alice", LESSON) == second
    text = cell_text(course.autograded / "alice" / LESSON / f"{LESSON}.ipynb")
    assert "# right second" in text
    assert "# right first" not in text
    assert [p.name for p in (course.autograded / "alice").iterdir()] == [LESSON]


@pytest.mark.parametrize("content", [None, "", "{", '{"cells": [], "nbformat": 4}'])
def test_a_foreign_folder_holds_no_attempt(course: Course, content: str | None) -> None:
    """An absent, torn or foreign notebook is no attempt and no error."""
    path = course.autograded / "alice" / LESSON / f"{LESSON}.ipynb"
    if content is not None:
        path.parent.mkdir(parents=True)
        path.write_text(content)
    assert recorder.stored_attempt(course, "alice", LESSON) is None


@pytest.mark.parametrize("content", [
        *("", "yesterday-ish", "99999999999999999999", "9" * 1_000_000, "1" * 64),
        *("2026-01-02 03:04:05 /etc/passwd", "2026-01-02 03:04:05 ../../etc/passwd", "\x1b[2J"),
        *("2026-01-02 03:04:05 UTC" + " " * 60, "0001-01-01 00:00:00 +2300", "2026-13-41 99:99:99"),
    ])
def test_an_unreadable_time_is_ignored(course: Course, content: str) -> None:
    """A timestamp.txt of any content stops nothing, and is not copied to where nbgrader would read it."""
    started = time.perf_counter()
    hand_in(course, "alice", **RIGHT).with_name("timestamp.txt").write_text(content)
    assert recorder.submission_time(Submission(course, "alice", LESSON, "v")) is None
    write(course, **RIGHT)
    assert not (course.autograded / "alice" / LESSON / "timestamp.txt").exists()
    assert time.perf_counter() - started < 2


@pytest.mark.parametrize("content", ["2026-01-02 03:04:05.678 UTC", "2026-01-02T03:04:05+0000"])
def test_the_times_that_nbgrader_writes_are_read(course: Course, content: str) -> None:
    """With fractions of a second and a zone by name or offset."""
    hand_in(course, "alice").with_name("timestamp.txt").write_text(content)
    found = recorder.submission_time(Submission(course, "alice", LESSON, "v"))
    assert found is not None
    assert found.replace(microsecond=0) == dt.datetime(2026, 1, 2, 3, 4, 5)
