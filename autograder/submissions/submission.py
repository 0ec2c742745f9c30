"""One student's submission for one lesson: the file that counts, whatever it is called."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from autograder.model.course import Course
from autograder.model.errors import SubmissionError
from autograder.submissions.notebook_file import identify


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
        """Return the digest of the file, or of no bytes if there is no ordinary file."""
        path = self.path
        return _digest(path) if _is_ordinary(path) else hashlib.sha256(b"").hexdigest()

    def require_file(self) -> Path:
        """Return the notebook's path. Raises SubmissionError if there is none, or only a link.

        A link is not followed: it may lead to another student's work.
        """
        path = self.path
        if path.is_symlink():
            raise SubmissionError(f"{path.name} is a link: expected the notebook itself")
        if not path.is_file():
            names = self._names()
            hint = f", found {names}: rename the right one" if names else ""
            raise SubmissionError(f"no notebook '{path.name}' was submitted{hint}")
        return path

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
