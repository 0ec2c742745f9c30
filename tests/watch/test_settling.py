"""A file that is being written waits; one that stays broken is graded in the end."""

from pathlib import Path

import pytest

from autograder.watch.inbox import Arrival, Inbox
from autograder.watch.settling import PATIENCE, QUIET, Settling

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
    (found,) = Inbox(folder.parents[1], ["03_tiny"]).newest()
    return found


def test_a_growing_file_waits_until_it_stops(folder: Path) -> None:
    """Each change starts the wait anew."""
    clock = Clock()
    settling = Settling(clock)
    for text in ("{", '{"cells": [', '{"cells": []}'):
        (folder / NAME).write_text(text)
        clock.now += QUIET
        assert not settling.is_whole(_arrival(folder))
    clock.now += QUIET / 2
    assert not settling.is_whole(_arrival(folder))
    clock.now += QUIET
    assert settling.is_whole(_arrival(folder))


def test_a_notebook_that_breaks_off_gets_more_time(folder: Path) -> None:
    """An upload may pause; after a minute it is graded as it is, and the student is told."""
    clock = Clock()
    settling = Settling(clock)
    (folder / NAME).write_text('{"cells": [')
    assert not settling.is_whole(_arrival(folder))
    clock.now = PATIENCE - 1
    assert not settling.is_whole(_arrival(folder))
    clock.now = PATIENCE + 1
    assert settling.is_whole(_arrival(folder))


def test_a_submission_of_the_exchange_is_whole_with_its_secret(tmp_path: Path) -> None:
    """It is written last, so there is nothing to wait for."""
    made = tmp_path / "ada+03_tiny+2026-03-01 11:00:00 UTC+x"
    made.mkdir()
    (made / NAME).write_text("{}")
    settling = Settling(Clock())
    (arrival,) = Inbox(tmp_path, ["03_tiny"]).newest()
    assert not settling.is_whole(arrival)
    (made / "submission_secret.txt").write_text("s")
    assert settling.is_whole(arrival)


def test_a_link_is_whole_at_once_for_it_is_refused_later(folder: Path, tmp_path: Path) -> None:
    """It is not read to find out."""
    (tmp_path / "other").write_text("{")
    (folder / NAME).symlink_to(tmp_path / "other")
    clock = Clock()
    settling = Settling(clock)
    assert not settling.is_whole(_arrival(folder))
    clock.now = QUIET
    assert settling.is_whole(_arrival(folder))
