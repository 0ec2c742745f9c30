"""Makes students' pages by nbgrader's GenerateFeedback: the exporter that writes them, and many at a time.

nbgrader_config.py names the exporter at nbgrader's extension point, so that the stock command and
formgrader's button write the same pages.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import nbformat
from nbconvert.exporters import Exporter
from nbformat import NotebookNode
from nbgrader.api import Gradebook
from nbgrader.converters import GenerateFeedback
from nbgrader.converters.base import NbGraderException

from autograder.model.course import Course
from autograder.model.errors import CourseError
from autograder.model.nbgrader_config import gradebook_place, plain_setting_errors, settings
from autograder.model.text import clean_name
from autograder.reports.student_pages import (
    INDEX,
    NOTEBOOK,
    GradedWork,
    feedback_page,
    notebook_page,
    steps,
    student_index,
    titles,
)
from autograder.storage import recorder
from autograder.storage.attempts import AttemptLog
from autograder.storage.gradebook import LessonGrades, course_directory, quiet_logger, student_grades
from autograder.storage.io_errors import machine_error
from autograder.storage.recorder import LateRule, Recorder, attached_attempt
from autograder.submissions.submission import SECRET, Submission

Resources = dict[str, Any]  # nbconvert's, with nbgrader's entries in it


class FeedbackExporter(Exporter):  # type: ignore[misc] # nbconvert has no type annotations
    """Makes the feedback page of a graded notebook, the whole notebook beside it, and the index above.

    nbgrader writes the first as LESSON.html, and the others because `resources` lists them.
    """

    output_mimetype = "text/html"

    def __init__(self, config: Any = None, **kw: Any) -> None:
        """Keep nbgrader's GenerateFeedback from folders that hold a link or anything but plain files.

        The autograder never puts one there, and nbgrader would copy what it leads to onto the student's page.
        """
        super().__init__(config=config, **kw)
        for folder in list(getattr(self.parent, "assignments", ())):
            if any(_is_foreign(path) for path in (Path(folder), *Path(folder).rglob("*"))):
                self.parent.log.error("left out: %s holds a link; autograde it again", clean_name(folder))
                del self.parent.assignments[folder]

    def _file_extension_default(self) -> str:
        return ".html"

    def from_filename(
        self, filename: str, resources: Resources | None = None, **kw: Any
    ) -> tuple[str, Resources]:
        """Return the page of a graded notebook; raises NbGraderException if we did not grade it."""
        path = Path(filename)
        notebook = nbformat.v4.reads(path.read_text(encoding="utf-8"))
        is_alone = (path.parent / SECRET).exists()  # it came, and goes back, through the exchange
        resources = (resources or {}) | {"output_extension": ".html", "is_alone": is_alone}
        return self.from_notebook_node(notebook, resources, **kw)

    def from_notebook_node(
        self, nb: NotebookNode, resources: Resources | None = None, **_: Any
    ) -> tuple[str, Resources]:
        """Return the feedback page; the other pages are among the outputs in `resources`."""
        attempt, resources = attached_attempt(nb), resources or {}
        if attempt is None:
            raise NbGraderException("this notebook was not graded by us: autograde it with --force")
        course = Course(Path(self.parent.coursedir.root))
        with Gradebook(resources["nbgrader"]["db_url"]) as book:
            grades = student_grades(book, attempt.student)
        attempts = AttemptLog(course.reports).of_student(attempt.student)
        earlier = attempts.setdefault(attempt.lesson, [])
        if attempt not in earlier[-1:]:  # the notebook's own attempt is the newest, logged or not
            earlier.append(attempt)
        known = grades.get(attempt.lesson, LessonGrades())
        work = GradedWork(
            student=attempt.student,
            titles=titles(course, attempt.lesson),
            report=attempt.report.with_scores(known.scores),
            notebook=nb,
            sandboxed=attempt.sandboxed,
            comments=known.comments,
            late_penalty=known.late_penalty,
            history=steps(earlier),
            is_alone=resources.get("is_alone", False),
        )
        page = feedback_page(work)
        pages: dict[str, str] = {}
        if work.is_alone:  # Assignment List offers feedback once there is a page for every notebook handed in
            submission = Submission(course, attempt.student, attempt.lesson, attempt.version)
            pages = {f"{name}.html": page for name in submission.other_names()}
        pages[f"../{INDEX}"] = student_index(course, attempt.student, attempts, grades)
        if work.report.is_graded:
            pages[NOTEBOOK] = notebook_page(work)
        resources["outputs"] = {name: text.encode() for name, text in pages.items()}
        return page, resources


def _is_foreign(path: Path) -> bool:
    plain = path.is_dir() or (path.is_file() and path.stat().st_nlink == 1)
    return path.is_symlink() or not plain


def is_stale(course: Course, student: str, lesson: str) -> bool:
    """Return whether a student's page is absent, torn, or older than the autograded notebook.

    A page gets the time of the notebook that it was made from once it is complete. Without a notebook, the
    student was removed, and there is no page to make.
    """
    page = course.feedback_page(student, lesson)
    notebook = course.autograded_notebook(student, lesson)
    if not notebook.is_file():
        return False
    return not page.is_file() or page.stat().st_mtime_ns != notebook.stat().st_mtime_ns


def renew_penalties(course: Course, lesson: str, student: str = "") -> dict[str, tuple[float, float]]:
    """Apply the rule for late work anew, as `Recorder.apply_late_rule` does, and outdate the pages."""
    with Recorder(course) as opened:
        changed = opened.apply_late_rule(lesson, student)
    for each in changed:
        outdate(course, each, lesson)
    return changed


def renew_stamps(course: Course, lesson: str, students: Iterable[str]) -> None:
    """Take over stamps that came anew with the same file (`recorder.take_over_stamps`); outdate the pages."""
    for student in students:
        if recorder.take_over_stamps(course, lesson, student):
            outdate(course, student, lesson)


def outdate(course: Course, student: str, lesson: str) -> None:
    """Mark a student's page as older than the scores, so that the next run makes it again at the latest."""
    with suppress(FileNotFoundError):
        os.utime(course.feedback_page(student, lesson), (0, 0))


def make_pages(course: Course, lesson: str, students: Sequence[str]) -> dict[str, str]:
    """Make the pages of these students; return what went wrong, by student.

    A page that fails costs no points and stops no other page. Raises CourseError if the disk or the gradebook
    refuses one.
    """
    try:
        converter = _Pages(course, lesson, students)
        with suppress(NbGraderException):  # says only that a page failed; `problems` says which and why
            converter.start()
    except Exception as error:  # reported for each page that is missing now
        if known := machine_error(error, gradebook_place(course)):
            raise known from error
        problems = dict.fromkeys(students, _one_line(error))
    else:
        if converter.refused:
            raise converter.refused
        problems = converter.problems
    stale = [student for student in students if is_stale(course, student, lesson)]
    return {student: problems.get(student, "nbgrader made none") for student in stale}


def require_settings(course: Course) -> None:
    """Raise SettingsError if nbgrader_config.py sets what recording a score or making a page would stop at.

    Commands that grade ask this first: what was graded before they stop would be graded in vain.
    """
    LateRule(course)
    with plain_setting_errors(course):
        _Pages(course, "", []).start()  # sets up all that the making of a page needs, and makes none


class _Pages(GenerateFeedback):  # type: ignore[misc] # nbgrader has no type annotations
    """GenerateFeedback for a list of students: nbgrader's own takes one name or a pattern."""

    def __init__(self, course: Course, lesson: str, students: Sequence[str]) -> None:
        config = settings(course)
        folder = course_directory(course, lesson, config)
        super().__init__(coursedir=folder, config=config, log=quiet_logger())
        self.course, self.students, self.force = course, students, True
        self.problems: dict[str, str] = {}
        self.refused: CourseError | None = None

    def init_notebooks(self) -> None:
        """Choose the notebooks of the students' folders."""
        lesson = self.coursedir.assignment_id
        paths = [self.course.autograded_notebook(student, lesson) for student in self.students]
        self.assignments = {str(path.parent): [str(path)] for path in paths}
        self.notebooks: list[str] = []

    def init_assignment(self, assignment_id: str, student_id: str) -> None:
        """Copy what lies beside the notebook; note the reason if it fails."""
        with self._noting_problems(student_id):
            super().init_assignment(assignment_id, student_id)

    def convert_single_notebook(self, notebook_filename: str) -> None:
        """Make one page and give it the time of its notebook; note the reason if it fails."""
        student = Path(notebook_filename).parent.parent.name
        before = Path(notebook_filename).stat()
        with self._noting_problems(student):
            super().convert_single_notebook(notebook_filename)
            page = self.course.feedback_page(student, self.coursedir.assignment_id)
            os.utime(page, ns=(before.st_atime_ns, before.st_mtime_ns))

    @contextmanager
    def _noting_problems(self, student: str) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            self.problems[student] = _one_line(error)
            self.refused = self.refused or machine_error(error, gradebook_place(self.course))
            raise


def _one_line(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())
