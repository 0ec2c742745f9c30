"""Finds what students handed in: in nbgrader's exchange, or in a folder laid out like `submitted`.

The exchange holds a folder for each submission, STUDENT+LESSON+TIME+RANDOM, as nbgrader's submit command
writes it. Any other folder holds STUDENT/LESSON/. Both may lie side by side; links are left alone.
"""

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from autograder.model.text import clean_name, is_student_name
from autograder.storage.autograded import parse_stamp
from autograder.submissions.submission import MOST_FILES

MOST_SUBMISSIONS = 100_000  # entries of an inbox that are looked at


@dataclass(frozen=True)
class Arrival:
    """One submission in the inbox.

    `key` tells it from every other, and from an earlier state of itself. Of one student's submissions
    for one lesson, the one with the greatest `order` counts.
    """

    student: str
    lesson: str
    folder: Path
    key: str
    order: str
    from_exchange: bool

    @property
    def place(self) -> tuple[str, str]:
        """The student and the lesson, of which the newest submission counts."""
        return self.student, self.lesson


class Inbox:
    """The folder that students' submissions arrive in."""

    def __init__(self, folder: Path, lessons: list[str]) -> None:
        """Look for submissions of these lessons."""
        self.folder, self.lessons = folder, frozenset(lessons)

    def newest(self) -> list[Arrival]:
        """Return each student's newest submission for each lesson, the longest-waiting first."""
        found: dict[tuple[str, str], Arrival] = {}
        for arrival in self._arrivals():
            before = found.setdefault(arrival.place, arrival)
            if before.order < arrival.order:
                found[arrival.place] = arrival
        return sorted(found.values(), key=lambda arrival: arrival.order)

    def left_out(self) -> list[str]:
        """Return the folders with a lesson in them whose names cannot be a student's, to be shown."""
        return [
            clean_name(entry.name)
            for entry in _folders(self.folder)
            if "+" not in entry.name
            and not is_student_name(entry.name)
            and any(inside.name in self.lessons for inside in _folders(Path(entry.path)))
        ]

    def _arrivals(self) -> Iterator[Arrival]:
        for entry in _folders(self.folder):
            if "+" in entry.name and (arrival := self._from_exchange(Path(entry.path))):
                yield arrival
            elif is_student_name(entry.name):
                for inside in _folders(Path(entry.path)):
                    if inside.name in self.lessons:
                        yield _in_folder(entry.name, inside.name, Path(inside.path))

    def _from_exchange(self, folder: Path) -> Arrival | None:
        """Return the submission whose folder has a name of nbgrader's, or None for any other."""
        student, lesson, stamp = (*folder.name.rsplit("+", 3), "", "")[:3]  # as nbgrader splits it
        time = parse_stamp(stamp)
        if lesson not in self.lessons or time is None or not is_student_name(student):
            return None
        return Arrival(student, lesson, folder, folder.name, time.isoformat(), from_exchange=True)


def _folders(folder: Path) -> list[os.DirEntry[str]]:
    """Return the folders in a folder, without links and hidden ones; none if it is gone."""
    try:
        with os.scandir(folder) as entries:
            found = [
                entry
                for entry in islice(entries, MOST_SUBMISSIONS)
                if entry.name[0] != "." and entry.is_dir(follow_symlinks=False)
            ]
    except OSError:
        return []
    return sorted(found, key=lambda entry: entry.name)


def _in_folder(student: str, lesson: str, folder: Path) -> Arrival:
    """Return the submission in STUDENT/LESSON; what it holds tells one state from the next."""
    state = fingerprint(folder)
    newest = max((changed for *_, changed in state), default=0)
    digest = hashlib.sha256(repr(state).encode("utf-8", "backslashreplace")).hexdigest()
    key = f"{student}/{lesson}/{digest}"
    return Arrival(student, lesson, folder, key, f"{newest:020d}", from_exchange=False)


def fingerprint(folder: Path) -> tuple[tuple[str, int, int], ...]:
    """Return the name, size and time of each file in a folder, without following links."""
    found = []
    try:
        with os.scandir(folder) as entries:
            for entry in islice(entries, MOST_FILES):
                about = entry.stat(follow_symlinks=False)
                found.append((entry.name, about.st_size, about.st_mtime_ns))
    except OSError:  # it is being written or removed at this moment
        return ()
    return tuple(sorted(found))


def shown(arrival: Arrival) -> str:
    """Return a submission as it is named in a message."""
    return f"{clean_name(arrival.student)}, {arrival.lesson}"
