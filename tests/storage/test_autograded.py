"""The autograded folder is replaced in one step, and holds what nbgrader expects there."""

import time
from datetime import datetime

import pytest
from tiny_course import LESSON, RIGHT, FakeGrader, cell_text, hand_in

from autograder.grading.grade_submission import grade_submission
from autograder.model.course import Course
from autograder.reports.graded_notebook import graded_page
from autograder.storage import autograded
from autograder.storage.attempts import Attempt
from autograder.submissions.submission import Submission


def write(course: Course, **answers: str) -> Attempt:
    """Hand in, grade and write."""
    hand_in(course, "alice", **answers)
    submission = Submission(course, "alice", LESSON, "v")
    attempt, notebook = grade_submission(FakeGrader(course), submission, sandboxed=True)
    autograded.write(course, attempt, graded_page(notebook, attempt))
    return attempt


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
    assert autograded.submission_time(Submission(course, "alice", LESSON, "v")) == datetime(2026, 1, 2, 3, 4, 5)


def test_a_newer_notebook_replaces_the_older(course: Course) -> None:
    """Only the newest is there, with nothing beside it, not even what a killed run left."""
    first = write(course, double="# right first")
    assert autograded.stored_attempt(course, "alice", LESSON) == first
    (course.autograded / "alice" / f".{LESSON}.killed").mkdir()
    second = write(course, double="# right second")
    assert autograded.stored_attempt(course, "alice", LESSON) == second
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
    assert autograded.stored_attempt(course, "alice", LESSON) is None


@pytest.mark.parametrize("content", [
        *("", "yesterday-ish", "99999999999999999999", "9" * 1_000_000, "1" * 64),
        *("2026-01-02 03:04:05 /etc/passwd", "2026-01-02 03:04:05 ../../etc/passwd", "\x1b[2J"),
        *("2026-01-02 03:04:05 UTC" + " " * 60, "0001-01-01 00:00:00 +2300", "2026-13-41 99:99:99"),
    ])
def test_an_unreadable_time_is_ignored(course: Course, content: str) -> None:
    """A timestamp.txt of any content stops nothing, and is not copied to where nbgrader would read it."""
    started = time.perf_counter()
    hand_in(course, "alice", **RIGHT).with_name("timestamp.txt").write_text(content)
    assert autograded.submission_time(Submission(course, "alice", LESSON, "v")) is None
    write(course, **RIGHT)
    assert not (course.autograded / "alice" / LESSON / "timestamp.txt").exists()
    assert time.perf_counter() - started < 2


@pytest.mark.parametrize("content", ["2026-01-02 03:04:05.678 UTC", "2026-01-02T03:04:05+0000"])
def test_the_times_that_nbgrader_writes_are_read(course: Course, content: str) -> None:
    """With fractions of a second and a zone by name or offset."""
    hand_in(course, "alice").with_name("timestamp.txt").write_text(content)
    found = autograded.submission_time(Submission(course, "alice", LESSON, "v"))
    assert found is not None
    assert found.replace(microsecond=0) == datetime(2026, 1, 2, 3, 4, 5)
