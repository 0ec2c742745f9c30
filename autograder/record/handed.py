"""What one student handed in for one lesson: the file that counts, whatever it is called."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from autograder.course import Course
from autograder.errors import SubmissionError
from autograder.notebook_file import identify


@dataclass(frozen=True)
class Handed:
    """One student's submission for one lesson: where it is, or would be."""

    course: Course
    student: str
    lesson: str
    version: str

    @property
    def path(self) -> Path:
        """The notebook's path: of the right name, or else the only one of the lesson."""
        named = self.course.submission(self.student, self.lesson)
        if named.is_symlink() or named.is_file():
            return named
        found = self._of_the_lesson(self._others())
        return found[0] if len(found) == 1 else named

    def sha256(self) -> str:
        """Return the digest of the file; that of no bytes where there is no ordinary file."""
        path = self.path
        return _digest(path) if _is_ordinary(path) else hashlib.sha256(b"").hexdigest()

    def insist_on_a_file(self) -> Path:
        """Return the notebook's path; SubmissionError with what is in its place if there is none.

        A link is not followed: it may lead to another's work.
        """
        path = self.path
        if path.is_symlink():
            raise SubmissionError(f"{path.name} is a link: expected the notebook itself")
        if not path.is_file():
            instead = (
                f", found {names}: give the right one that name" if (names := self._names()) else ""
            )
            raise SubmissionError(f"no notebook '{path.name}' was handed in{instead}")
        return path

    def repairs(self, path: Path) -> Iterator[str]:
        """Yield what is to be said about the file's name, and about others beside it."""
        if path.stem != self.lesson:
            yield f"'{path.name}' was marked: there is no '{self.lesson}.ipynb'"
        elif names := self._names():
            yield f"'{path.name}' was marked, not what lies beside it: {names}"

    def _others(self) -> list[Path]:
        named = self.course.submission(self.student, self.lesson)
        found = named.parent.glob("*.ipynb*")  # browsers and mail programs add a (1) or a .txt
        return sorted(path for path in found if _is_ordinary(path) and path.name != named.name)

    def _names(self) -> str:
        return ", ".join(f"'{other.name}'" for other in self._others())

    def _of_the_lesson(self, paths: list[Path]) -> list[Path]:
        """Return those that may be meant, one of each content: the only one, or those of the lesson."""
        if len(paths) == 1:
            return paths
        ours = [path for path in paths if self._is_of_the_lesson(path)]
        return list({_digest(path): path for path in reversed(ours)}.values())

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
