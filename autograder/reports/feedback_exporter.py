"""What nbgrader's generate_feedback, and formgrader's button for it, make a student's pages with.

nbgrader_config.py names the exporter at nbgrader's extension point.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import nbformat
from nbconvert.exporters import Exporter
from nbformat import NotebookNode
from nbgrader.api import Gradebook
from nbgrader.converters.base import NbGraderException

from autograder.model.course import Course
from autograder.model.text import clean_name
from autograder.reports.feedback_page import feedback_page
from autograder.reports.feedback_view import GradedWork
from autograder.reports.history import steps
from autograder.reports.notebook_page import notebook_page
from autograder.reports.student_index import student_index
from autograder.reports.student_pages import INDEX, NOTEBOOK
from autograder.reports.titles import titles
from autograder.storage.attempts import Attempt, AttemptLog
from autograder.storage.autograded import attached_attempt
from autograder.storage.gradebook import LessonGrades, student_grades
from autograder.submissions.submission import SECRET

Resources = dict[str, Any]  # nbconvert's, with nbgrader's entries in it


class FeedbackExporter(Exporter):  # type: ignore[misc] # nbconvert has no type annotations
    """Makes the feedback page of a graded notebook, the whole notebook beside it, and the index above.

    nbgrader writes the first as LESSON.html, and the others because `resources` lists them.
    """

    output_mimetype = "text/html"

    def __init__(self, config: Any = None, **kw: Any) -> None:
        """Leave out folders that nbgrader would copy foreign files from."""
        super().__init__(config=config, **kw)
        _leave_out_foreign(self.parent)

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
        made = _attempts(course, attempt)
        work = _work(course, nb, attempt, made, grades, is_alone=resources.get("is_alone", False))
        index = student_index(course, attempt.student, made, grades)
        pages = {f"../{INDEX}": index}
        if work.report.is_graded:
            pages[NOTEBOOK] = notebook_page(work)
        resources["outputs"] = {name: page.encode() for name, page in pages.items()}
        return feedback_page(work), resources


def _work(
    course: Course,
    notebook: NotebookNode,
    attempt: Attempt,
    made: dict[str, list[Attempt]],
    grades: Mapping[str, LessonGrades],
    *,
    is_alone: bool,
) -> GradedWork:
    """Return what the page shows: the attempt with the gradebook's scores and comments."""
    known = grades.get(attempt.lesson, LessonGrades())
    return GradedWork(
        student=attempt.student,
        titles=titles(course, attempt.lesson),
        report=attempt.report.with_scores(known.scores),
        notebook=notebook,
        sandboxed=attempt.sandboxed,
        comments=known.comments,
        late_penalty=known.late_penalty,
        history=steps(made[attempt.lesson]),
        is_alone=is_alone,
    )


def _attempts(course: Course, newest: Attempt) -> dict[str, list[Attempt]]:
    """Return the student's attempts by lesson; the graded notebook's own is the last of its lesson."""
    made = AttemptLog(course.reports).of_student(newest.student)
    earlier = made.get(newest.lesson, [])
    if newest not in earlier[-1:]:
        made[newest.lesson] = [*earlier, newest]
    return made


def _leave_out_foreign(converter: Any) -> None:
    """Keep nbgrader's GenerateFeedback from folders that hold a link or anything but plain files.

    The autograder never puts one there, and nbgrader would copy what it leads to onto the student's page.
    """
    for folder in list(getattr(converter, "assignments", ())):
        if any(_is_foreign(path) for path in (Path(folder), *Path(folder).rglob("*"))):
            converter.log.error("left out: %s holds a link; autograde it again", clean_name(folder))
            del converter.assignments[folder]


def _is_foreign(path: Path) -> bool:
    plain = path.is_dir() or (path.is_file() and path.stat().st_nlink == 1)
    return path.is_symlink() or not plain
