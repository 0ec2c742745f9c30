"""Where a course keeps things: one folder, laid out as nbgrader lays it out."""

from dataclasses import dataclass
from pathlib import Path

from autograder.errors import CourseError

CONFIG = "nbgrader_config.py"


@dataclass(frozen=True)
class Course:
    """A course folder and the places in it."""

    root: Path

    @classmethod
    def find(cls, start: Path | None = None) -> "Course":
        """Return the nearest folder at or above `start` (or here) that holds nbgrader_config.py.

        Falls back to the folder this program was installed from. Raises CourseError if neither is
        a course.
        """
        here = (start or Path.cwd()).resolve()
        home = Path(__file__).resolve().parent.parent
        for folder in (here, *here.parents, home):
            if (folder / CONFIG).is_file():
                return cls(folder)
        raise CourseError(
            f"no course here: expected {CONFIG} in {here} or a folder above it; "
            "go to the course folder, or name it with --course"
        )

    @property
    def source(self) -> Path:
        """Lesson texts and the instructor's notebooks."""
        return self.root / "source"

    @property
    def release(self) -> Path:
        """What students get."""
        return self.root / "release"

    @property
    def solutions(self) -> Path:
        """Model answers, run."""
        return self.root / "solutions"

    @property
    def lectures(self) -> Path:
        """Slides, made from the solved lessons."""
        return self.root / "lectures"

    @property
    def images(self) -> Path:
        """Figures, with the programs that draw them."""
        return self.root / "images"

    @property
    def submitted(self) -> Path:
        """What students handed in: one folder each."""
        return self.root / "submitted"

    @property
    def autograded(self) -> Path:
        """Marked notebooks, as nbgrader keeps them."""
        return self.root / "autograded"

    @property
    def feedback(self) -> Path:
        """Feedback pages for students."""
        return self.root / "feedback"

    @property
    def reports(self) -> Path:
        """Reports for the instructor, and the log of attempts."""
        return self.root / "reports"

    @property
    def gradebook(self) -> Path:
        """Nbgrader's database."""
        return self.root / "gradebook.db"

    def text(self, lesson: str) -> Path:
        """Return the path of a lesson as its author writes it."""
        return self.source / f"{lesson}.py"

    def source_notebook(self, lesson: str) -> Path:
        """Return the path of nbgrader's instructor notebook."""
        return self.source / lesson / f"{lesson}.ipynb"

    def release_notebook(self, lesson: str) -> Path:
        """Return the path of the notebook students get; CourseError if it was never released."""
        path = self.release / lesson / f"{lesson}.ipynb"
        if not path.is_file():
            raise CourseError(
                f"no released lesson '{lesson}': expected {path}; run 'autograder build {lesson}'"
            )
        return path

    def solved_notebook(self, lesson: str) -> Path:
        """Return the path of a lesson with its model answers, run."""
        return self.solutions / f"{lesson}.ipynb"

    def submission(self, student: str, lesson: str) -> Path:
        """Return the path of what one student handed in for one lesson."""
        return self.submitted / student / lesson / f"{lesson}.ipynb"

    def lessons(self) -> list[str]:
        """Return the names of all lessons that have a text, in order."""
        return sorted(path.stem for path in self.source.glob("[0-9]*.py"))
