"""The layout of a course folder, which is nbgrader's own."""

from dataclasses import dataclass
from pathlib import Path

from autograder.model.errors import CourseError

CONFIG = "nbgrader_config.py"
ERROR_LOG = "grader-errors.log"  # in the folder of the reports
PROGRAM = ("autograder", "coursework")  # the program's folders, in a course that is the whole project


def package_of(lesson: str) -> str:
    """Return the name of the package with a lesson's checks: "attention" for "03_attention"."""
    return lesson.partition("_")[2]


class _Place:
    """A path inside the course folder, as an attribute of `Course`."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, course: "Course", _: type) -> Path:
        return course.root / self._name


@dataclass(frozen=True)
class Course:
    """A course folder and the paths in it."""

    root: Path

    @classmethod
    def find(cls, start: Path | None = None) -> "Course":
        """Return the nearest folder at or above `start` (or here) that holds nbgrader_config.py.

        Raises CourseError if none of them is a course.
        """
        here = (start or Path.cwd()).resolve()
        for folder in (here, *here.parents):
            if (folder / CONFIG).is_file():
                return cls(folder)
        raise CourseError(
            f"no course here: expected {CONFIG} in {here} or a folder above it; "
            "go to the course folder, or name it with --course"
        )

    @classmethod
    def at(cls, folder: Path) -> "Course":
        """Return the course in exactly this folder. Raises CourseError if there is none in it."""
        root = folder.resolve()
        if not (root / CONFIG).is_file():
            found = "which has none" if root.is_dir() else "which is no folder"
            raise CourseError(
                f"no course there: expected {CONFIG} in {root}, {found}; name the course folder"
            )
        return cls(root)

    @classmethod
    def of_program(cls) -> "Course":
        """Return the course that this program came with. Raises CourseError if it came without."""
        return cls.at(Path(__file__).resolve().parents[2])

    source = _Place("source")  # lesson texts and the instructor's notebooks
    release = _Place("release")  # the lessons as students get them
    solutions = _Place("solutions")  # the lessons with their model answers, executed
    lectures = _Place("lectures")  # slides, made from the solved lessons
    site = _Place("site")  # the lessons as pages to read
    images = _Place("images")  # figures, and the programs that draw them
    submitted = _Place("submitted")  # submissions, one folder per student
    autograded = _Place("autograded")  # graded notebooks, one folder per student
    feedback = _Place("feedback")  # feedback pages, one folder per student
    reports = _Place("reports")  # reports for the instructor, and the log of attempts
    exports = _Place("exports")  # scores for other systems, as they were last exported
    keys = _Place("keys")  # private: keys of single lessons, where a machine has those instead of `key`
    gradebook = _Place("gradebook.db")  # nbgrader's database
    key = _Place("course.key")  # private: what the inputs of graded checks are drawn from
    results = _Place("course.results")  # private: what our own answers give on those inputs

    def claim(self, *folders: Path) -> None:
        """Make folders to write to.

        Raises CourseError if one is, or lies in, one that the course reads or keeps, or can't be there.
        """
        used = (
            *(self.source, self.release, self.solutions, self.images, self.submitted, self.autograded),
            *(self.feedback, self.reports, self.keys, *(self.root / name for name in PROGRAM)),
        )
        for folder in folders:
            for each in used:
                if folder.resolve().is_relative_to(each.resolve()):
                    raise CourseError(
                        f"cannot write to {each.name}/, which the course itself uses: "
                        "name another folder with --folder"
                    )
        for folder in folders:
            try:
                folder.mkdir(parents=True, exist_ok=True)
            except (FileNotFoundError, FileExistsError) as error:  # in /proc, say, or behind a broken link
                raise CourseError(f"cannot make the folder {folder}: {error.strerror}") from error

    def shown(self, path: Path) -> str:
        """Return a path as it is printed: relative to the course if it is in there."""
        return str(path.relative_to(self.root) if path.is_relative_to(self.root) else path)

    def needed(self, name: str) -> Path:
        """Return the path of something of the project that students' files are made from.

        Raises CourseError if the course was laid out without it.
        """
        path = self.root / name
        if not path.exists():
            raise CourseError(
                f"no {name} in the course folder: expected {path}; copy it from the project there, "
                "or run this command in a copy of the whole project"
            )
        return path

    def lesson_key(self, lesson: str) -> Path:
        """Return the path of a lesson's own key, where a machine has that instead of the course's."""
        return self.keys / f"{lesson}.key"

    def text(self, lesson: str) -> Path:
        """Return the path of a lesson's text, as its author writes it."""
        return self.source / f"{lesson}.py"

    def source_notebook(self, lesson: str) -> Path:
        """Return the path of nbgrader's instructor notebook."""
        return self.source / lesson / f"{lesson}.ipynb"

    def release_notebook(self, lesson: str) -> Path:
        """Return the path of the notebook that students get.

        Raises CourseError if it was never released.
        """
        path = self.release / lesson / f"{lesson}.ipynb"
        if not path.is_file():
            raise CourseError(
                f"no released lesson '{lesson}': expected {path}; run 'autograder build {lesson}'"
            )
        return path

    def solved_notebook(self, lesson: str) -> Path:
        """Return the path of a lesson with its model answers, executed."""
        return self.solutions / f"{lesson}.ipynb"

    def submission(self, student: str, lesson: str) -> Path:
        """Return the expected path of one student's submission for one lesson."""
        return self.submitted / student / lesson / f"{lesson}.ipynb"

    def autograded_notebook(self, student: str, lesson: str) -> Path:
        """Return the path of one student's graded notebook."""
        return self.autograded / student / lesson / f"{lesson}.ipynb"

    def feedback_page(self, student: str, lesson: str) -> Path:
        """Return the path of one student's feedback page."""
        return self.feedback / student / lesson / f"{lesson}.html"

    def lessons(self) -> list[str]:
        """Return the names of all lessons that have a text, in order."""
        return sorted(path.stem for path in self.source.glob("[0-9]*.py"))

    def lesson(self, wanted: str) -> str:
        """Return the lesson that is meant by "03", "3" or its name. Raises CourseError if none is."""
        names = self.lessons()
        for name in names:
            number = name.partition("_")[0]
            if wanted in (name, number, number.lstrip("0")):
                return name
        known = f"there are {', '.join(names)}" if names else f"expected its text in {self.source}"
        raise CourseError(f"no lesson '{wanted}': {known}")
