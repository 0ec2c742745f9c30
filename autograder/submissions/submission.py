"""One student's submission for one lesson: the file that counts, whatever it is called."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from autograder.model.course import Course
from autograder.model.errors import NothingSubmittedError, SubmissionError, WrongFileError
from autograder.submissions.notebook_file import identify

TIMESTAMP = "timestamp.txt"  # nbgrader writes the time of submission there
MOST_NAMES = 5


@dataclass(frozen=True)
class Submission:
    """One student's submission for one lesson; `version` is what `lesson_version` returns."""

    course: Course
    student: str
    lesson: str
    version: str

    @property
    def path(self) -> Path:
        """The notebook of the expected name, or else the only notebook of the lesson."""
        expected = self.course.submission(self.student, self.lesson)
        if expected.is_symlink() or expected.is_file():
            return expected
        found = self._of_the_lesson(self._others())
        return found[0] if len(found) == 1 else expected

    def sha256(self) -> str:
        """Return the digest of the file, or of the reason why there is none to read."""
        try:
            return _digest(self.require_file())
        except (SubmissionError, OSError) as error:
            return hashlib.sha256(str(error).encode()).hexdigest()

    def require_file(self) -> Path:
        """Return the notebook's path.

        Raises NothingSubmittedError if there is no file, and WrongFileError if there are several, or
        only a link. A link is not followed: it may lead to another student's work.
        """
        path = self.path
        if path.is_symlink():
            raise WrongFileError(f"'{path.name}' is a link: expected the notebook itself")
        if path.is_file():
            return path
        if names := self._names():
            raise WrongFileError(f"expected '{path.name}', found {names}: rename the right one")
        if names := self._unrelated_names():
            raise WrongFileError(f"expected the notebook '{path.name}', found {names}")
        raise NothingSubmittedError(f"there is no file '{path.name}'")

    def repairs(self, path: Path) -> Iterator[str]:
        """Yield a note if the file has an unexpected name, or if there are others beside it."""
        if path.stem != self.lesson:
            yield f"'{path.name}' was graded: there is no '{self.lesson}.ipynb'"
        elif names := self._names():
            yield f"'{path.name}' was graded; the folder also contains {names}"

    def _others(self) -> list[Path]:
        expected = self.course.submission(self.student, self.lesson)
        found = expected.parent.glob("*.ipynb*")  # browsers and mail programs add a (1) or a .txt
        return sorted(path for path in found if _is_ordinary(path) and path.name != expected.name)

    def _unrelated_names(self) -> str:
        """Name what else is in the folder; nbgrader's time stamp and hidden files do not count."""
        folder = self.course.submission(self.student, self.lesson).parent
        found = sorted(folder.iterdir()) if folder.is_dir() else []
        shown = [path for path in found if path.name != TIMESTAMP and path.name[0] != "."]
        return ", ".join(f"'{path.name}{'/' * path.is_dir()}'" for path in shown[:MOST_NAMES])

    def _names(self) -> str:
        return ", ".join(f"'{other.name}'" for other in self._others())

    def _of_the_lesson(self, paths: list[Path]) -> list[Path]:
        """Return the only file, or else one file for each distinct notebook of the lesson."""
        if len(paths) == 1:
            return paths
        matching = [path for path in paths if self._is_of_the_lesson(path)]
        return list({_digest(path): path for path in reversed(matching)}.values())

    def _is_of_the_lesson(self, path: Path) -> bool:
        try:
            return identify(self.course, path) == self.lesson
        except SubmissionError:
            return False


def _is_ordinary(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
