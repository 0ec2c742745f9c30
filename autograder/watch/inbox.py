"""Finds what students handed in, tells when it is whole, and copies it to the course's `submitted`.

The exchange holds a folder for each submission, STUDENT+LESSON+TIME+RANDOM, as nbgrader's submit command
writes it. Any other folder holds STUDENT/LESSON/. Both may lie side by side; links are left alone.

Copies are made as by `nbgrader collect`, but nbgrader copies whole trees and follows links. Here only plain
files are read; what is anything else becomes a link in the copy, which the grader refuses by its name and
never follows.
"""

import hashlib
import os
import pwd
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from autograder.model.course import Course
from autograder.model.errors import SubmissionError
from autograder.model.text import clean_name, is_student_name
from autograder.storage.recorder import parse_stamp
from autograder.submissions.notebook_file import MAX_BYTES, read_submitted
from autograder.submissions.submission import MOST_FILES, SECRET, TIMESTAMP

MOST_SUBMISSIONS = 100_000  # entries of an inbox that are looked at
QUIET = 2.0  # seconds without a change after which a file that looks whole is whole
PATIENCE = 60.0  # seconds without a change after which it is graded as it is
MOST_COPIED = 100  # files of a submission
MOST_BESIDE = 2**20  # bytes of a file that is no notebook
MOST_BYTES = 2 * MAX_BYTES  # of all files together
State = tuple[tuple[str, int, int], ...]  # the name, size and time of each file in a folder


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

    def __str__(self) -> str:
        return f"{clean_name(self.student)}, {self.lesson}"

    @property
    def place(self) -> tuple[str, str]:
        """The student and the lesson, of which the newest submission counts."""
        return self.student, self.lesson


class Inbox:
    """The folder that students' submissions for some lessons arrive in."""

    def __init__(self, folder: Path, lessons: list[str]) -> None:
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
    state = _state(folder)
    newest = max((changed for *_, changed in state), default=0)
    digest = hashlib.sha256(repr(state).encode("utf-8", "backslashreplace")).hexdigest()
    key, order = f"{student}/{lesson}/{digest}", f"{newest:020d}"
    return Arrival(student, lesson, folder, key, order, from_exchange=False)


def _state(folder: Path) -> State:
    """Return the state of a folder, without following links."""
    found = []
    try:
        with os.scandir(folder) as entries:
            for entry in islice(entries, MOST_FILES):
                about = entry.stat(follow_symlinks=False)
                found.append((entry.name, about.st_size, about.st_mtime_ns))
    except OSError:  # it is being written or removed at this moment
        return ()
    return tuple(sorted(found))


class Settling:
    """Remembers since when each submission has been as it is, by a `clock` in seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seen: dict[str, tuple[State, float]] = {}

    def is_whole(self, arrival: Arrival) -> bool:
        """Return whether a submission can be graded now.

        nbgrader writes the secret last, so that a submission of the exchange that has one is complete.
        Anything else has to stay unchanged for a while, and for longer if its notebook breaks off.
        """
        place, state, now = str(arrival.folder), _state(arrival.folder), self._clock()
        before, since = self._seen.get(place, ((), now))
        if before != state:
            since = now
        self._seen[place] = state, since
        names = {name for name, *_ in state}
        if arrival.from_exchange and SECRET in names:
            return True
        unchanged = now - since
        return unchanged >= PATIENCE or (unchanged >= QUIET and _looks_whole(arrival, names))

    def forget(self, arrival: Arrival) -> None:
        """Forget a submission that was taken care of."""
        self._seen.pop(str(arrival.folder), None)


def _looks_whole(arrival: Arrival, names: Iterable[str]) -> bool:
    """Return whether there is a notebook, and each ends as JSON does.

    One that cannot be read at all counts as whole: the student is told why.
    """
    notebooks = [name for name in names if name.endswith(".ipynb")]
    try:
        contents = [read_submitted(arrival.folder / name, MAX_BYTES) for name in notebooks]
    except SubmissionError:
        return True
    return bool(notebooks) and all(content.rstrip().endswith(b"}") for content in contents)


def collect(course: Course, arrival: Arrival) -> None:
    """Put a submission in its place in `submitted`, in one step; what was there before is replaced.

    Raises OSError if its folder cannot be read, and then changes nothing.
    """
    target = course.submission(arrival.student, arrival.lesson).parent
    if arrival.folder.absolute() == target.absolute():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f".{arrival.lesson}.", dir=target.parent))
    try:
        space = MOST_BYTES
        for name in _names(arrival.folder):
            if space > 0:
                space -= _copy(arrival.folder / name, draft / name)
        draft.chmod(0o755)
        if os.path.lexists(target):
            old = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
            target.rename(old / "old")
            draft.rename(target)
            shutil.rmtree(old)
        else:
            draft.rename(target)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _names(folder: Path) -> list[str]:
    """Return the names in a folder: nbgrader's own files and notebooks first, and only so many."""
    with os.scandir(folder) as entries:
        names = [entry.name for entry in islice(entries, MOST_FILES)]
    order = {TIMESTAMP: 0, SECRET: 0}
    names.sort(key=lambda name: (order.get(name, 1 if _is_notebook(name) else 2), name))
    return names[:MOST_COPIED]


def _is_notebook(name: str) -> bool:
    return ".ipynb" in name[1:]  # as Submission has it: browsers add a (1) or a .txt


def _copy(source: Path, target: Path) -> int:
    """Copy one plain file, and return its size.

    Of a notebook that is no plain file, leave a link; of anything else that is none, nothing.
    """
    is_notebook = _is_notebook(source.name)
    try:
        return target.write_bytes(read_submitted(source, MAX_BYTES if is_notebook else MOST_BESIDE))
    except SubmissionError:
        if is_notebook and not source.is_dir():
            target.symlink_to(source)
        return 0


def owner_of(arrival: Arrival) -> str:
    """Return the name of the user who owns a submission; "" if the machine knows none."""
    try:
        return pwd.getpwuid(arrival.folder.lstat().st_uid).pw_name
    except (KeyError, OSError):
        return ""
