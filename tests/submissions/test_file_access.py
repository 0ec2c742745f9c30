"""Links, pipes, devices and heaps of files are refused in bounded time; nothing is read through them."""

import os
import time
from pathlib import Path

import nbformat
import pytest
from conftest import REAL_COURSE, solve
from tiny_course import LESSON, RIGHT, FakeGrader, hand_in
from tiny_fixtures import book, built, course, grades, same_grader  # noqa: F401 - fixtures

from autograder.grading.grade_submission import grade_submission
from autograder.model.course import Course
from autograder.model.errors import SubmissionError, WrongFileError
from autograder.model.report import Report, State
from autograder.submissions.notebook_file import read_submission
from autograder.submissions.released import identify
from autograder.submissions.submission import Submission, submitted_by


def graded(course: Course, student: str = "mallory") -> Report:
    """Grade a student's submission."""
    submission = Submission(course, student, LESSON, "v")
    return grade_submission(FakeGrader(course), submission, sandboxed=True)[0].report


@pytest.mark.parametrize("level", ["student", "lesson", "file", "hard", "dangling", "absolute"])
def test_a_link_at_any_level_earns_nothing(course: Course, level: str) -> None:
    """To another student's folder, lesson or notebook, by either kind of link."""
    theirs = hand_in(course, "alice", **RIGHT)
    mine = course.submission("mallory", LESSON)
    place = {"student": mine.parent.parent, "lesson": mine.parent}.get(level, mine)
    target = {"student": theirs.parent.parent, "lesson": theirs.parent}.get(level, theirs)
    place.parent.mkdir(parents=True, exist_ok=True)
    if level == "hard":
        os.link(target, place)
    elif level == "dangling":
        place.symlink_to("nowhere")
    else:
        place.symlink_to(target if level == "absolute" else os.path.relpath(target, place.parent))
    assert "mallory" in submitted_by(course, LESSON)[0]
    report = graded(course)
    assert report.state is State.WRONG_FILE
    assert report.score == 0
    assert "link" in report.reason
    with pytest.raises(SubmissionError):
        read_submission(mine, course)
    if level != "hard":
        assert graded(course, "alice").score == 18


@pytest.mark.parametrize("levels", [0, 1, 2])
def test_check_refuses_a_link_that_came_with_the_file(tmp_path: Path, levels: int) -> None:
    """The file, its folder, and the folder of that: what an archive of submissions brings along."""
    real = tmp_path / "elsewhere" / "alice" / "03" / "n.ipynb"
    real.parent.mkdir(parents=True)
    nbformat.write(solve(REAL_COURSE, "03_attention"), real)
    parts = real.relative_to(tmp_path / "elsewhere").parts
    link = tmp_path / "unpacked" / Path(*parts[: len(parts) - levels])
    link.parent.mkdir(parents=True)
    link.symlink_to(Path(*real.parts[: len(real.parts) - levels]))
    with pytest.raises(WrongFileError, match="is a link"):
        identify(REAL_COURSE, tmp_path / "unpacked" / Path(*parts))


def test_links_above_the_course_are_the_instructors_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A course on another disk, reached through a link, can be worked in."""
    real = tmp_path / "disk" / "course"
    real.mkdir(parents=True)
    nbformat.write(solve(REAL_COURSE, "03_attention"), real / "n.ipynb")
    (tmp_path / "course").symlink_to(real)
    monkeypatch.chdir(tmp_path / "course")
    assert identify(REAL_COURSE, Path("n.ipynb")) == "03_attention"


@pytest.mark.parametrize("kind", ["pipe", "socket", "device", "endless"])
def test_what_is_not_a_file_is_neither_opened_nor_waited_for(course: Course, kind: str) -> None:
    """A pipe without a writer, a socket, and a device behind a link: the student is told which it is."""
    path = course.submission("mallory", LESSON)
    path.parent.mkdir(parents=True)
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "socket":
        os.mknod(path, 0o140644)
    else:
        path.symlink_to({"device": "/dev/stdin", "endless": "/dev/zero"}[kind])
    stamp = path.with_name("timestamp.txt")
    os.mkfifo(stamp)
    started = time.perf_counter()
    report, said = graded(course), {"pipe": "a pipe", "socket": "a socket"}.get(kind, "a link")
    assert report.state is State.WRONG_FILE
    assert report.reason == f"'{LESSON}.ipynb' is {said}: expected the notebook itself"
    assert Submission(course, "mallory", LESSON, "v").submitted_at() == ""
    assert time.perf_counter() - started < 2


def test_decoys_are_read_once_and_not_without_end(course: Course) -> None:
    """Eight notebooks of 11 MB beside the real one, each nearly a copy of it."""
    path = hand_in(course, "alice", **RIGHT)
    whole = path.read_text().replace('"cells"', '"pad": "%s", "cells"' % ("x" * 11 * 2**20), 1)
    for number in range(8):
        path.with_name(f"decoy{number}.ipynb").write_text(whole + " " * number)
    path.unlink()
    submission = Submission(course, "alice", LESSON, "v")
    started = time.perf_counter()
    assert grade_submission(FakeGrader(course), submission, sandboxed=True)[0].report.score == 0
    assert time.perf_counter() - started < 6
    started = time.perf_counter()
    submission.sha256()
    assert time.perf_counter() - started < 0.5


def test_a_folder_of_thousands_of_files_is_told_in_one_line(course: Course) -> None:
    """With names that would clear a screen, too."""
    folder = course.submission("alice", LESSON).parent
    folder.mkdir(parents=True)
    for number in range(3000):
        (folder / f"\x1b[2J\u202e{number}.ipynb").touch()
    report = graded(course, "alice")
    assert report.state is State.WRONG_FILE
    assert len(report.reason) < 1000
    assert "\x1b" not in report.reason
    assert "\u202e" not in report.reason


def test_a_folder_that_cannot_be_a_students_is_left_out(course: Course) -> None:
    """Its name would be markup, a formula or an escape sequence somewhere."""
    hand_in(course, "alice", **RIGHT)
    for name in ("<img src=x onerror=alert(1)>", "=cmd|x", "a\x1b[2Jb", "*"):
        (course.submitted / name / LESSON).mkdir(parents=True)
    students, others = submitted_by(course, LESSON)
    assert students == ["alice"]
    assert len(others) == 4
    assert not any("\x1b" in name for name in others)
