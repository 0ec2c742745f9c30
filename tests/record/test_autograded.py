"""The marked folder is replaced in one step, and holds what nbgrader expects there."""

from datetime import datetime

import pytest

from autograder.course import Course
from autograder.record import autograded
from autograder.record.attempts import Attempt
from autograder.record.handed import Handed
from autograder.record.marking import mark
from autograder.record.pages import marked_page

from .tiny_course import LESSON, RIGHT, FakeMarker, cell_text, hand_in


def write(course: Course, **answers: str) -> Attempt:
    """Hand in, mark and write."""
    hand_in(course, "alice", **answers)
    handed = Handed(course, "alice", LESSON, "v")
    attempt, notebook = mark(FakeMarker(course), handed, sandboxed=True)
    autograded.write(course, attempt, marked_page(notebook, attempt))
    return attempt


def test_notebook_images_and_timestamp_are_there(course: Course) -> None:
    """Nothing else that was handed in gets there."""
    (course.source / LESSON / "images").mkdir()
    (course.source / LESSON / "images" / "square.svg").write_text("<svg/>")
    beside = hand_in(course, "alice").parent
    (beside / "timestamp.txt").write_text("2026-01-02 03:04:05 UTC")
    (beside / "data.bin").write_bytes(b"x")
    write(course, **RIGHT)
    folder = course.autograded / "alice" / LESSON
    found = sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())
    assert found == [f"{LESSON}.ipynb", "images/square.svg", "timestamp.txt"]
    assert autograded.handed_in(course, "alice", LESSON) == datetime(2026, 1, 2, 3, 4, 5)


def test_a_newer_notebook_takes_the_place_of_the_older(course: Course) -> None:
    """Only the newest is there, and nothing is left beside it, not even of a killed run."""
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
def test_a_folder_of_another_make_holds_no_attempt(course: Course, content: str | None) -> None:
    """Absent, torn or not ours: no attempt, no error."""
    path = course.autograded / "alice" / LESSON / f"{LESSON}.ipynb"
    if content is not None:
        path.parent.mkdir(parents=True)
        path.write_text(content)
    assert autograded.stored_attempt(course, "alice", LESSON) is None


@pytest.mark.parametrize("content", ["", "yesterday-ish", "99999999999999999999"])
def test_a_time_that_is_none_is_no_time(course: Course, content: str) -> None:
    """An unreadable timestamp.txt stops nothing."""
    (hand_in(course, "alice").with_name("timestamp.txt")).write_text(content)
    assert autograded.handed_in(course, "alice", LESSON) is None
