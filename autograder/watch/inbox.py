"""Finds what students handed in, tells when it is whole, and copies it to the course's `submitted`.

The exchange holds a folder for each submission, STUDENT+LESSON+TIME+RANDOM, as nbgrader's submit command
writes it. Everybody may write there, so nothing else in it counts, and no folder of another owner. Any other
inbox holds STUDENT/LESSON/. Links are left alone.

Copies are made as by `nbgrader collect`, but nbgrader copies whole trees and follows links. Here only plain
files are read, up to some size. A notebook that is anything else is something else in the copy, too, by which
the grader tells the student what it is.
"""

import hashlib
import os
import pwd
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path

from autograder.model.course import Course
from autograder.model.errors import SubmissionError
from autograder.model.text import clean_name, is_student_name
from autograder.storage.recorder import parse_stamp
from autograder.submissions.notebook_file import MAX_BYTES, pieces, read_end
from autograder.submissions.submission import MOST_FILES, SECRET, TIMESTAMP, listed, misplaced

QUIET = 2.0  # seconds without a change after which a file that looks whole is whole
PATIENCE = 60.0  # seconds without a change after which it is graded as it is
MOST_COPIED = 100  # files of a submission
MOST_BESIDE = 2**20  # bytes of a file that is no notebook
MOST_BYTES = 2 * MAX_BYTES  # of all files together
END = 4096  # bytes at the end of a file by which it looks whole
NOT_OF_THE_EXCHANGE = (
    "folders in the exchange that 'nbgrader submit' did not write are left alone: "
    "anybody could have put them there"
)
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
    """The folder that students' submissions for some lessons arrive in: an exchange's, or any other."""

    def __init__(
        self, folder: Path, lessons: list[str], *, is_exchange: bool, checks_owner: bool = True
    ) -> None:
        """`checks_owner` says whether a folder in the exchange has to belong to the student."""
        self.folder, self.lessons = folder, frozenset(lessons)
        self.is_exchange, self.checks_owner = is_exchange, checks_owner
        self.left_out: list[str] = []

    def newest(self) -> list[Arrival]:
        """Return each student's newest submission for each lesson, the longest-waiting first.

        `left_out` then says, a line each, what was left alone and why. However much of that there is, it
        neither hides a submission nor takes memory.
        """
        found: dict[tuple[str, str], Arrival] = {}
        notes: set[str] = set()
        for arrival in self._submitted(notes) if self.is_exchange else self._in_folders(notes):
            before = found.setdefault(arrival.place, arrival)
            if before.order < arrival.order:
                found[arrival.place] = arrival
        self.left_out = sorted(notes)
        return sorted(found.values(), key=lambda arrival: (arrival.order, arrival.place))

    def _submitted(self, notes: set[str]) -> Iterator[Arrival]:
        """Yield what students handed in through the exchange."""
        for entry in _folders(self.folder):
            student, lesson, stamp = (*entry.name.rsplit("+", 3), "", "")[:3]  # as nbgrader splits it
            at = parse_stamp(stamp)
            if at is None or not is_student_name(student):
                notes.add(NOT_OF_THE_EXCHANGE)
            elif lesson in self.lessons:
                folder = Path(entry.path)
                arrival = Arrival(student, lesson, folder, folder.name, at.isoformat(), from_exchange=True)
                owner = _owner(entry) if self.checks_owner else student
                if owner == student:
                    yield arrival
                else:
                    notes.add(
                        f"folders of '{owner or 'an unknown user'}' that are named after others are left "
                        "alone; if your users share one account, set c.ExchangeCollect.check_owner = False"
                    )

    def _in_folders(self, notes: set[str]) -> Iterator[Arrival]:
        """Yield what lies in STUDENT/LESSON/."""
        unnamed: list[str] = []
        mistyped: list[str] = []
        for entry in _folders(self.folder):
            inside = [*_folders(Path(entry.path), MOST_FILES)]
            lessons = [each for each in inside if each.name in self.lessons]
            if len(mistyped) < MOST_FILES:
                mistyped += [f"{entry.name}/{each.name}" for each in inside if each not in lessons]
            if lessons and not is_student_name(entry.name):
                unnamed.append(entry.name)
            elif lessons:
                yield from (_in_folder(entry.name, each.name, Path(each.path)) for each in lessons)
        if unnamed:
            notes.add(f"left out, because no student can have such a name: {listed(sorted(unnamed))}")
        if names := misplaced(self.folder):
            notes.add(f"left out, because a notebook belongs in STUDENT/LESSON/: {names}")
        if mistyped:
            notes.add(f"left out, because no lesson has that name: {listed(sorted(mistyped))}")


def _folders(folder: Path, most: int | None = None) -> Iterator[os.DirEntry[str]]:
    """Yield the folders among the first `most` entries of a folder, without links and hidden ones."""
    with suppress(OSError), os.scandir(folder) as entries:  # it may be gone for a moment
        for entry in islice(entries, most):
            if entry.name[0] != "." and entry.is_dir(follow_symlinks=False):
                yield entry


def _owner(entry: os.DirEntry[str]) -> str:
    """Return the name of the user who owns a folder; "" if the machine knows none."""
    try:
        return _user(entry.stat(follow_symlinks=False).st_uid)
    except OSError:
        return ""


@lru_cache
def _user(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return ""


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


class UploadTracker:
    """Remembers since when each submission has been as it is, to tell which are still being written."""

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
    notebooks = [name for name in names if name.endswith(".ipynb")][:MOST_COPIED]
    try:
        ends = [read_end(arrival.folder / name, END) for name in notebooks]
    except SubmissionError:
        return True
    return bool(ends) and all(end.rstrip().endswith(b"}") for end in ends)


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
        for name in _names(arrival):
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


def _names(arrival: Arrival) -> list[str]:
    """Return the names in a folder: nbgrader's own files, then the notebook, and only so many."""
    with os.scandir(arrival.folder) as entries:
        names = [entry.name for entry in islice(entries, MOST_FILES)]
    first = [TIMESTAMP, SECRET, f"{arrival.lesson}.ipynb"]
    names.sort(key=lambda name: (name not in first, not _is_notebook(name), name))
    return names[:MOST_COPIED]


def _is_notebook(name: str) -> bool:
    return ".ipynb" in name[1:]  # as Submission has it: browsers add a (1) or a .txt


def _copy(source: Path, target: Path) -> int:
    """Copy one plain file, and return its size.

    In place of a notebook that cannot be copied, something of the same kind is left, so that grading can say
    what it is; in place of any other file, nothing.
    """
    is_notebook = _is_notebook(source.name)
    try:
        with target.open("wb") as copy:
            return sum(map(copy.write, pieces(source, MAX_BYTES if is_notebook else MOST_BESIDE)))
    except SubmissionError:
        target.unlink(missing_ok=True)
        if is_notebook:
            _leave_of_its_kind(source, target)
        return 0


def _leave_of_its_kind(source: Path, target: Path) -> None:
    """Make a pipe, a folder, an empty file that is too large, or else a link, which is never followed."""
    about = source.lstat()
    if stat.S_ISFIFO(about.st_mode):
        os.mkfifo(target)
    elif stat.S_ISDIR(about.st_mode):
        target.mkdir()
    elif stat.S_ISREG(about.st_mode) and about.st_size > MAX_BYTES:
        target.touch()
        os.truncate(target, MAX_BYTES + 1)  # takes no space
    else:
        target.symlink_to(source)
