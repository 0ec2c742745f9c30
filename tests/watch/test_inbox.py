"""Submissions are found in both layouts, the newest counts, links are left alone, and half-written ones wait."""

import os
import time
import tracemalloc
from pathlib import Path

import pytest

from autograder.watch.inbox import PATIENCE, QUIET, Arrival, Inbox, UploadTracker

LESSONS = ["03_tiny", "04_other"]
FIRST, SECOND = "2026-03-01 11:00:00.000000 UTC", "2026-03-01 12:00:00.000000 UTC"


def _exchange(folder: Path) -> Inbox:
    return Inbox(folder, LESSONS, is_exchange=True, checks_owner=False)


def _plain(folder: Path) -> Inbox:
    return Inbox(folder, LESSONS, is_exchange=False)


def _names(inbox: Inbox) -> list[tuple[str, str]]:
    return [(arrival.student, arrival.lesson) for arrival in inbox.newest()]


def test_the_newest_of_each_student_and_lesson_counts(tmp_path: Path) -> None:
    """By the time in the folder's name, whatever the order of the folders."""
    for name in (f"ada+03_tiny+{SECOND}+zz", f"ada+03_tiny+{FIRST}+aa", f"bo+04_other+{FIRST}"):
        (tmp_path / name).mkdir()
    bo, ada = _exchange(tmp_path).newest()
    assert (ada.student, ada.folder.name) == ("ada", f"ada+03_tiny+{SECOND}+zz")
    assert (bo.student, bo.lesson, bo.from_exchange) == ("bo", "04_other", True)


def test_any_folder_of_students_is_read(tmp_path: Path) -> None:
    """STUDENT/LESSON/; other lessons and hidden folders are nobody's submission."""
    for name in ("ada/03_tiny", "ada/09_none", ".hidden/03_tiny", "bo/03_tiny"):
        (tmp_path / name).mkdir(parents=True)
    assert _names(_plain(tmp_path)) == [("ada", "03_tiny"), ("bo", "03_tiny")]


def test_a_changed_file_is_another_submission(tmp_path: Path) -> None:
    """An unchanged one keeps its key, so that a restart does not grade it again."""
    folder = tmp_path / "ada" / "03_tiny"
    folder.mkdir(parents=True)
    (folder / "03_tiny.ipynb").write_text("{}")
    before = _plain(tmp_path).newest()[0].key
    assert _plain(tmp_path).newest()[0].key == before
    (folder / "03_tiny.ipynb").write_text("{ }")
    assert _plain(tmp_path).newest()[0].key != before


@pytest.mark.parametrize(
    "name",
    [
        f"ada+09_none+{FIRST}+a", "ada+03_tiny+yesterday+a", f"../x+03_tiny+{FIRST}+a".replace("/", "_"),
        f"=cmd+03_tiny+{FIRST}+a", f"<b>+03_tiny+{FIRST}+a", "+++", "ada+03_tiny", "ada/03_tiny",
    ],
)  # fmt: skip
def test_a_name_that_nbgrader_would_not_give_is_left_alone(tmp_path: Path, name: str) -> None:
    """Another lesson, no time, a student that cannot be one, or a folder that anybody may have put there."""
    (tmp_path / name).mkdir(parents=True)
    assert _names(_exchange(tmp_path)) == []


def test_links_are_not_followed(tmp_path: Path) -> None:
    """Neither to a student's folder nor to a submission."""
    secret = tmp_path / "secret" / "03_tiny"
    secret.mkdir(parents=True)
    inbox = tmp_path / "inbox"
    (inbox / "bo").mkdir(parents=True)
    (inbox / "ada").symlink_to(secret.parent)
    (inbox / "bo" / "03_tiny").symlink_to(secret)
    (inbox / f"cyd+03_tiny+{FIRST}+a").symlink_to(secret)
    assert _names(_plain(inbox)) == _names(_exchange(inbox)) == []


def test_an_inbox_that_is_gone_is_empty(tmp_path: Path) -> None:
    """A network share may be away for a moment."""
    assert _names(_plain(tmp_path / "none")) == []


def test_a_mistyped_lesson_is_named(tmp_path: Path) -> None:
    """Somebody put it there and waits for feedback; the right ones are taken all the same."""
    for lesson in ("03_tiny", "3", "03_tiney"):
        (tmp_path / "ada" / lesson).mkdir(parents=True)
    inbox = _plain(tmp_path)
    assert _names(inbox) == [("ada", "03_tiny")]
    assert inbox.left_out == ["left out, because no lesson has that name: 'ada/03_tiney', 'ada/3'"]


def test_a_notebook_one_folder_too_high_is_named(tmp_path: Path) -> None:
    """Or two, as in a class run: beside the lessons' folders; any other file there is nobody's concern."""
    (tmp_path / "ada" / "03_tiny").mkdir(parents=True)
    for name in ("03.ipynb", "ada/03_tiny.ipynb", "ada/notes.txt", "ada/.03_tiny.ipynb", ".hidden.ipynb"):
        (tmp_path / name).write_text("{}")
    inbox = _plain(tmp_path)
    assert _names(inbox) == [("ada", "03_tiny")]
    assert inbox.left_out == ["left out, because a notebook belongs in STUDENT/LESSON/: '03.ipynb', 'ada/03_tiny.ipynb'"]


@pytest.mark.full("120,000 folders", seconds=30)
def test_no_number_of_other_folders_hides_a_submission(tmp_path: Path) -> None:
    """Anyone with access to the inbox can fill it; what is left alone is reported in one line."""
    students = [f"ada{number}" for number in range(30)]
    for student in students:
        (tmp_path / "plain" / student / "03_tiny").mkdir(parents=True)
        (tmp_path / "exchange" / f"{student}+03_tiny+{FIRST}+a").mkdir(parents=True)
    for number in range(120_000):
        (tmp_path / "plain" / f"x{number}").mkdir()
        (tmp_path / "exchange" / f"x{number}").mkdir()
    for inbox in (_plain(tmp_path / "plain"), _exchange(tmp_path / "exchange")):
        started = time.process_time()
        assert sorted(student for student, _ in _names(inbox)) == sorted(students)
        assert time.process_time() - started < 10
        assert len(inbox.left_out) == inbox.is_exchange

NAME = "03_tiny.ipynb"


class Clock:
    """A clock that goes when told."""

    now = 0.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A student's folder."""
    made = tmp_path / "ada" / "03_tiny"
    made.mkdir(parents=True)
    return made


def _arrival(folder: Path) -> Arrival:
    (found,) = _plain(folder.parents[1]).newest()
    return found


def test_a_growing_file_waits_until_it_stops(folder: Path) -> None:
    """Each change starts the wait anew."""
    clock = Clock()
    uploads = UploadTracker(clock)
    for text in ("{", '{"cells": [', '{"cells": []}'):
        (folder / NAME).write_text(text)
        clock.now += QUIET
        assert not uploads.is_whole(_arrival(folder))
    clock.now += QUIET / 2
    assert not uploads.is_whole(_arrival(folder))
    clock.now += QUIET
    assert uploads.is_whole(_arrival(folder))


def test_a_notebook_that_breaks_off_gets_more_time(folder: Path) -> None:
    """An upload may pause; after a minute it is graded as it is, and the student is told."""
    clock = Clock()
    uploads = UploadTracker(clock)
    (folder / NAME).write_text('{"cells": [')
    assert not uploads.is_whole(_arrival(folder))
    clock.now = PATIENCE - 1
    assert not uploads.is_whole(_arrival(folder))
    clock.now = PATIENCE + 1
    assert uploads.is_whole(_arrival(folder))


def test_a_submission_of_the_exchange_is_whole_with_its_secret(tmp_path: Path) -> None:
    """It is written last, so there is nothing to wait for."""
    made = tmp_path / "ada+03_tiny+2026-03-01 11:00:00 UTC+x"
    made.mkdir()
    (made / NAME).write_text("{}")
    uploads = UploadTracker(Clock())
    (arrival,) = _exchange(tmp_path).newest()
    assert not uploads.is_whole(arrival)
    (made / "submission_secret.txt").write_text("s")
    assert uploads.is_whole(arrival)


def test_a_link_is_whole_at_once_for_it_is_refused_later(folder: Path, tmp_path: Path) -> None:
    """It is not read to find out."""
    (tmp_path / "other").write_text("{")
    (folder / NAME).symlink_to(tmp_path / "other")
    clock = Clock()
    uploads = UploadTracker(clock)
    assert not uploads.is_whole(_arrival(folder))
    clock.now = QUIET
    assert uploads.is_whole(_arrival(folder))


def test_only_the_end_of_a_file_is_read_to_see_whether_it_is_whole(folder: Path) -> None:
    """Sparse files of 250 MB take no time to make, and cost no memory here; nor does their number."""
    for number in range(12):
        (folder / f"{number}.ipynb").touch()
        os.truncate(folder / f"{number}.ipynb", 250 * 2**20)
    (folder / NAME).write_text("{" + " " * 10_000 + "}\n")
    clock = Clock()
    uploads = UploadTracker(clock)
    tracemalloc.start()
    assert not uploads.is_whole(_arrival(folder))
    clock.now = QUIET
    assert not uploads.is_whole(_arrival(folder))
    for number in range(12):
        (folder / f"{number}.ipynb").unlink()
    assert not uploads.is_whole(_arrival(folder))
    clock.now += QUIET
    assert uploads.is_whole(_arrival(folder))
    assert tracemalloc.get_traced_memory()[1] < 2**20
    tracemalloc.stop()
