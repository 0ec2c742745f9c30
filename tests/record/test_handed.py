"""The file that counts is found, whatever it is called and whatever lies beside it."""

import hashlib
from pathlib import Path

import pytest

from autograder.course import Course
from autograder.record.handed import Handed
from autograder.record.marking import mark
from autograder.results import Outcome, Report

from .tiny_course import LESSON, RIGHT, FakeMarker, hand_in


def marked(course: Course) -> Report:
    """Mark what alice handed in."""
    handed = Handed(course, "alice", LESSON, "v")
    attempt, _ = mark(FakeMarker(course), handed, sandboxed=True)
    return attempt.report


@pytest.mark.parametrize("name", ["copy.ipynb", f"{LESSON} (1).ipynb", f"{LESSON}.ipynb.txt"])
def test_a_renamed_notebook_is_found(course: Course, name: str) -> None:
    """The only notebook in the folder counts; the report says which it was."""
    path = hand_in(course, "alice", **RIGHT)
    renamed = path.rename(path.with_name(name))
    report = marked(course)
    assert report.score == 18
    assert report.repairs == [f"'{name}' was marked: there is no '{LESSON}.ipynb'"]
    digest = hashlib.sha256(renamed.read_bytes()).hexdigest()
    assert Handed(course, "alice", LESSON, "v").sha256() == digest


def test_of_several_the_one_of_the_lesson_counts(course: Course) -> None:
    """Another lesson's notebook, a broken one and copies of the right one do not hide it."""
    path = hand_in(course, "alice", **RIGHT)
    for name in ("a.ipynb", "b.ipynb"):
        path.with_name(name).write_bytes(path.read_bytes())
    path.with_name("notes.ipynb").write_text('{"cells": [{"cell_type": "code", "source": "1"}]}')
    path.with_name("half.ipynb").write_text("{")
    path.unlink()
    assert marked(course).repairs == [f"'a.ipynb' was marked: there is no '{LESSON}.ipynb'"]


def test_which_of_two_answers_counts_is_not_guessed(course: Course) -> None:
    """Two different notebooks of the lesson: neither is marked, and both are named."""
    path = hand_in(course, "alice", **RIGHT)
    path.rename(path.with_name("final.ipynb"))
    hand_in(course, "alice", double="# half").rename(path.with_name("final2.ipynb"))
    report = marked(course)
    assert {done.outcome for done in report.exercises} == {Outcome.MISSING}
    assert "found 'final.ipynb', 'final2.ipynb'" in report.repairs[0]


def test_what_lies_beside_the_right_one_is_told(course: Course) -> None:
    """The notebook of the right name counts, even if it is the emptier one."""
    path = hand_in(course, "alice", **RIGHT)
    path.rename(path.with_name("backup.ipynb"))
    hand_in(course, "alice", double="# half")
    report = marked(course)
    assert report.score == 4
    assert report.repairs == [
        f"'{LESSON}.ipynb' was marked, not what lies beside it: 'backup.ipynb'"
    ]


def test_folders_and_links_are_no_notebooks(course: Course, tmp_path: Path) -> None:
    """A folder of the notebook's name is passed over; a link to elsewhere is not followed."""
    path = hand_in(course, "bob", **RIGHT)
    folder = course.submission("alice", LESSON)
    folder.mkdir(parents=True)
    (folder.parent / "mine.ipynb").symlink_to(path)
    report = marked(course)
    assert {done.outcome for done in report.exercises} == {Outcome.MISSING}
    assert report.repairs == [f"no notebook '{LESSON}.ipynb' was handed in"]
