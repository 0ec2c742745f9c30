"""Whatever lies in a student's folder, the submission is found or refused, and nothing else is read."""

import os
import shutil
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.model.course import Course
from autograder.model.errors import SubmissionError
from autograder.model.text import clean, is_student_name
from autograder.storage.recorder import submission_time
from autograder.submissions.notebook_file import read_submission
from autograder.submissions.submission import Submission, submitted_by

FUZZ = settings.get_profile("fuzz")
LESSON = "03_attention"
SECRET = "belongs to the instructor"
NOTEBOOK = '{"cells": [{"cell_type": "code", "source": "def softmax(x): pass"}]}'
NAMES = [f"{LESSON}.ipynb", "copy.ipynb", f"{LESSON} (1).ipynb", "timestamp.txt", "x\x1b[2J.ipynb", "\u202e.ipynb.txt", "=1.ipynb", "more"]
KINDS = ["notebook", "text", "folder", "link", "link to a folder", "link to itself", "hard link", "pipe", "nothing", "no permission"]

entries = st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(KINDS), st.text(max_size=40)), max_size=5)
stamps = st.text(st.characters(codec=None), max_size=70) | st.from_regex(
    r"\d{1,5}-\d\d?-\d\d?[ T]\d\d?:\d\d(:\d\d)?(\.\d{1,6})? ?[+-]?[A-Za-z0-9:/.]{0,12}", fullmatch=True
)


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Course:
    """Give a course with something of the instructor's and of another student's in it."""
    found = Course(tmp_path_factory.mktemp("trees"))
    other = found.submission("alice", LESSON)
    other.parent.mkdir(parents=True)
    other.write_text(NOTEBOOK.replace("pass", f"return '{SECRET}'"))
    return found


def place(path: Path, kind: str, text: str, target: Path) -> None:
    """Put something of a kind at a path."""
    if os.path.lexists(path) or kind == "nothing":
        return
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "hard link":
        os.link(target, path)
    elif kind.startswith("link"):
        to = {"link to a folder": target.parent, "link to itself": path}.get(kind, target)
        path.symlink_to(to)
    else:
        path.write_text(NOTEBOOK if kind == "notebook" else text, "utf-8", "replace")
        path.chmod(0 if kind == "no permission" else 0o644)


@FUZZ
@given(entries, st.sampled_from(["", "student", "lesson"]))
def test_a_folder_of_anything_gives_one_line_or_the_students_own_file(
    course: Course, found: list[tuple[str, str, str]], link: str
) -> None:
    """No text of another file is read, and no name gets through as it was."""
    theirs, mine = course.submission("alice", LESSON), course.submission("bob", LESSON).parent
    shutil.rmtree(mine.parent, ignore_errors=True)
    mine.parent.unlink(missing_ok=True)
    if link == "student":
        mine.parent.symlink_to(theirs.parent.parent)
    elif link == "lesson":
        mine.parent.mkdir()
        mine.symlink_to(theirs.parent)
    else:
        mine.mkdir(parents=True)
        for name, kind, text in found:
            place(mine / name, kind, text, theirs)
    submission = Submission(course, "bob", LESSON, "v")
    assert "bob" in submitted_by(course, LESSON)[0]
    assert len(submission.sha256()) == 64
    assert SECRET not in submission.submitted_at()
    try:
        path = submission.require_file()
        said = [*submission.repairs(path), *(cell.source for cell in read_submission(path, course).cells)]
    except SubmissionError as error:
        said = [str(error)]
    assert not any(SECRET in text for text in said)
    assert all(text == clean(text, 10_000) for text in said)


@FUZZ
@given(stamps)
def test_a_time_stamp_is_a_time_or_nothing(course: Course, stamp: str) -> None:
    """It is never an error, whatever is in it."""
    path = course.submission("carol", LESSON).with_name("timestamp.txt")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(stamp.encode("utf-8", "surrogatepass"))
    submission_time(Submission(course, "carol", LESSON, "v"))


@FUZZ
@given(st.text(st.characters(exclude_characters="/\0", codec=None), min_size=1, max_size=12))
def test_a_name_is_a_students_only_if_it_is_plain_text(name: str) -> None:
    """It stays as it is in a message, and holds nothing that a page or a table acts on."""
    if is_student_name(name):
        assert not set(name) & set('<>"&*?[]\\`')
        assert name[0] not in "=+-@. "
        assert clean(name).split() == name.split()
