"""One student's submission for one lesson: the file that counts, whatever it is called."""

import hashlib
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, islice
from pathlib import Path

from autograder.model.attempt import Attempt
from autograder.model.course import Course
from autograder.model.errors import NothingSubmittedError, SubmissionError, WrongFileError
from autograder.model.report import Report
from autograder.model.text import clean_name, first_few, is_student_name, look_alikes, spelt_name
from autograder.submissions.notebook_file import MAX_BYTES, pieces, read_start, require_real
from autograder.submissions.released import identify

TIMESTAMP = "timestamp.txt"  # nbgrader writes the time of submission there
SECRET = "submission_secret.txt"  # noqa: S105 - a file: nbgrader's exchange finds feedback by it
LONGEST_SECRET = 256
SECRET_FORM = re.compile(r"[A-Za-z0-9_+=/.-]+")
MOST_TIME = 64  # bytes of a time stamp
MOST_NAMES = 5
MOST_FILES = 1000  # entries of a folder that are looked at
MOST_READ = 10  # notebooks that are read to find the one of the lesson


@dataclass(frozen=True)
class Submission:
    """One student's submission for one lesson; `version` is what `lesson_version` returns.

    `settled` is a report of exercises that are not to be graded again. With `graded`, an attempt that is
    recorded, the lines to blame are looked for in that, and nothing is graded.
    """

    course: Course
    student: str
    lesson: str
    version: str
    settled: Report | None = field(default=None, compare=False)
    graded: Attempt | None = field(default=None, compare=False)

    @property
    def folder(self) -> Path:
        """The folder that holds the notebook and nbgrader's own files."""
        return self.course.submission(self.student, self.lesson).parent

    @property
    def path(self) -> Path:
        """The notebook of the expected name, or else the only notebook of the lesson."""
        expected = self.course.submission(self.student, self.lesson)
        if expected.is_symlink() or expected.is_file():
            return expected
        return self._other_name or expected

    @cached_property
    def _other_name(self) -> Path | None:
        """The only notebook among those of other names, or the only distinct one of the lesson."""
        paths = self._others()
        if len(paths) == 1:
            return paths[0]
        distinct: dict[str, Path] = {}
        for path in paths if len(paths) <= MOST_READ else ():
            with suppress(SubmissionError):
                if identify(self.course, path) == self.lesson:
                    distinct.setdefault(self._digest(path), path)
        return next(iter(distinct.values())) if len(distinct) == 1 else None

    def sha256(self) -> str:
        """Return the digest of the file, or of the reason why there is none to read."""
        try:
            return self._digest(self.require_file())
        except (SubmissionError, OSError) as error:
            return hashlib.sha256(str(error).encode("utf-8", "replace")).hexdigest()

    def secret(self) -> str:
        """Return the text by which nbgrader's exchange finds the feedback; "" if there is none."""
        path = self.folder / SECRET
        plain = read_start(path, LONGEST_SECRET, self.course).decode("ascii", "replace").strip()
        return plain if SECRET_FORM.fullmatch(plain) else ""

    def submitted_at(self) -> str:
        """Return what nbgrader's time stamp beside the notebook says; '' if there is none."""
        path = self.folder / TIMESTAMP
        stamp = read_start(path, MOST_TIME + 1, self.course)
        return stamp.decode("ascii", "replace").strip() if len(stamp) <= MOST_TIME else ""

    def require_file(self) -> Path:
        """Return the notebook's path.

        Raises NothingSubmittedError if there is no file, and WrongFileError if there are several, or
        only a link, a folder or a pipe. No link is followed, to a file or to a folder: it may lead to another
        student's work.
        """
        for place in (self.folder.parent, self.folder):
            if place.is_symlink():
                name = clean_name(place.name)
                raise WrongFileError(f"the folder '{name}' is a link: expected the folder itself")
        path = self.path
        if path.is_symlink():
            name = clean_name(path.name)
            raise WrongFileError(f"'{name}' is a link: expected the notebook itself")
        if path.is_file():
            require_real(path, self.course)
            return path
        if names := self._names():
            raise WrongFileError(f"expected '{path.name}', found {names}: rename the right one")
        if os.path.lexists(path):
            require_real(path, self.course)  # which says what it is instead
        # nbgrader's time stamp and hidden files do not count
        others = [e for e in self._entries() if e.name != TIMESTAMP and e.name[0] != "."]
        if names := listed([e.name + "/" * e.is_dir(follow_symlinks=False) for e in others]):
            raise WrongFileError(f"expected the notebook '{path.name}', found {names}")
        raise NothingSubmittedError(f"there is no file '{path.name}'")

    def is_empty(self) -> bool:
        """Return whether the folder holds nothing that was handed in."""
        try:
            self.require_file()
        except NothingSubmittedError:
            return True
        except (SubmissionError, OSError):
            return False
        return False

    def repairs(self, path: Path) -> Iterator[str]:
        """Yield a note if the file has an unexpected name, or if there are others beside it."""
        if path.stem != self.lesson:
            yield f"'{clean_name(path.name)}' was graded: there is no '{self.lesson}.ipynb'"
        elif names := self._names():
            yield f"'{path.name}' was graded; the folder also contains {names}"

    def other_names(self) -> list[str]:
        """Return the names, without the ending, of notebooks that are not named after the lesson.

        nbgrader's exchange asks for a feedback page of each of them. Of very many, only some are returned.
        """
        found = [path.stem for path in self._others() if path.suffix == ".ipynb" and path.name.isprintable()]
        return found[:MOST_READ]

    def _entries(self) -> list[os.DirEntry[str]]:
        """Return what the folder contains, in order; of very many entries, only some."""
        try:
            with os.scandir(self.folder) as found:
                return sorted(islice(found, MOST_FILES), key=lambda entry: entry.name)
        except OSError:
            return []

    def _others(self) -> list[Path]:
        expected = f"{self.lesson}.ipynb"
        return [
            Path(entry.path)
            for entry in self._entries()
            if ".ipynb" in entry.name[1:]  # browsers and mail programs add a (1) or a .txt
            and entry.is_file(follow_symlinks=False)
            and entry.name != expected
        ]

    def _names(self) -> str:
        return listed([other.name for other in self._others()])

    def _digest(self, path: Path) -> str:
        digest = hashlib.sha256()
        for piece in pieces(path, MAX_BYTES, self.course):
            digest.update(piece)
        return digest.hexdigest()


def submitted_by(course: Course, lesson: str) -> tuple[list[str], list[str]]:
    """Return who has a folder for a lesson, and the folders whose names cannot be a student's.

    A link in place of a folder counts, and `Submission.require_file` then says so.
    """
    found = [
        folder.name
        for folder in (course.submitted.iterdir() if course.submitted.is_dir() else ())
        if os.path.lexists(folder / lesson) and ((folder / lesson).is_symlink() or (folder / lesson).is_dir())
    ]
    students = sorted(name for name in found if is_student_name(name))
    return students, sorted(spelt_name(name) for name in set(found) - set(students))


def of_no_lesson(course: Course) -> str:
    """List what lies in students' folders under the name of no lesson or other assignment; '' for nothing."""
    known = {*course.lessons()}
    found = sorted(
        f"{folder.parent.name}/{folder.name}"
        for folder in course.submitted.glob("*/*")
        if folder.name not in known and not folder.name.startswith(".") and folder.is_dir()
        if not (course.source / folder.name).exists() and not (course.release / folder.name).exists()
    )
    return listed(found)


def misplaced(folder: Path) -> str:
    """List notebooks in a folder of STUDENT/LESSON/ that lie in no lesson's folder, and so are nobody's.

    Returns '' for none. No link is followed, and of very many notebooks only some are looked at.
    """
    students = (entry for entry in _seen(folder) if entry.is_dir(follow_symlinks=False))
    entries = chain(_seen(folder), chain.from_iterable(_seen(entry.path, MOST_FILES) for entry in students))
    found = (e.path for e in entries if e.name.endswith(".ipynb") and e.is_file(follow_symlinks=False))
    return listed(sorted(os.path.relpath(path, folder) for path in islice(found, MOST_FILES)))


def _seen(folder: Path | str, most: int | None = None) -> Iterator[os.DirEntry[str]]:
    """Yield the first `most` entries of a folder without hidden ones; nothing if it cannot be read."""
    with suppress(OSError), os.scandir(folder) as entries:
        yield from (entry for entry in islice(entries, most) if entry.name[0] != ".")


def look_alike(course: Course, others: Iterable[str] = ()) -> str:
    """List the students of the course, and `others`, whose names look like another's; '' for nobody."""
    folders = course.submitted.iterdir() if course.submitted.is_dir() else ()
    names = {*others, *(folder.name for folder in folders)}
    if found := look_alikes(filter(is_student_name, names)):
        return f"check that these are not one student: their names look alike: {listed(found)}"
    return ""


def listed(names: list[str]) -> str:
    """Return the first few of some names as they are spelt, for a message, and how many more there are."""
    return ", ".join(first_few([f"'{spelt_name(name)}'" for name in names], MOST_NAMES))
