"""nbgrader's own autograde command, and the formgrader's button, with our grading inside.

nbgrader converts a submission twice: first to restore the released cells, then to run it. Here the
first pass grades the submitted file and replaces it with the graded notebook, and the second pass records the
result. nbgrader_config.py names the classes below at nbgrader's extension points.
"""

import atexit
import copy
import glob
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import nbformat
from nbconvert.exporters import NotebookExporter
from nbformat import NotebookNode
from nbgrader.api import Gradebook
from nbgrader.converters.base import NbGraderException
from nbgrader.preprocessors import NbGraderPreprocessor
from traitlets import Bool

from autograder.grading.grade_submission import grade_submission, with_lines
from autograder.grading.loop import GradingLoop
from autograder.grading.pool import make_grader
from autograder.model.course import Course
from autograder.model.errors import AutograderError
from autograder.model.text import is_student_name, spelt_name
from autograder.reports.feedback_exporter import require_settings
from autograder.storage.attempts import AttemptLog
from autograder.storage.locks import recording
from autograder.storage.recorder import attach_attempt, attached_attempt, copy_stamps, record_attempt
from autograder.submissions.submission import Submission

if TYPE_CHECKING:
    from autograder.grading.grader import Grader

Resources = dict[str, Any]  # nbconvert's, with nbgrader's entries in it


class SubmissionExporter(NotebookExporter):  # type: ignore[misc] # nbconvert has no type annotations
    """Passes submissions on unread in the grading pass, so that a broken file is graded like any other.

    nbgrader makes it once per command, before any submission. It starts the grader, and stops the
    command with one clear line if there is no sandbox.
    """

    sandboxed = Bool(True, help="Whether students' code runs in a sandbox.").tag(config=True)

    def __init__(self, config: Any = None, **kw: Any) -> None:
        """Start the grader. Raises NbGraderException if that fails."""
        super().__init__(config=config, **kw)
        folder = self.parent.coursedir
        self.course = Course(Path(folder.root))
        try:
            require_settings(self.course)
            self.loop = GradingLoop(self.course, folder.assignment_id, sandboxed=self.sandboxed)
            self.loop.register()
            self.grader = _grader(self.course, self.sandboxed, self.loop.version)
            self.staged = stage(self.parent, self.course)
        except AutograderError as error:
            self.log.error(str(error))  # noqa: TRY400 - nbgrader shows only what is logged
            raise NbGraderException(str(error)) from error

    def from_filename(
        self, filename: str, resources: Resources | None = None, **kw: Any
    ) -> tuple[str, Resources]:
        """Convert a file; in the grading pass, `GradeSubmission` reads it instead."""
        if not any(isinstance(step, GradeSubmission) for step in self._preprocessors):
            return super().from_filename(filename, resources, **kw)  # type: ignore[no-any-return]
        nothing = nbformat.v4.new_notebook()
        return self.from_notebook_node(nothing, resources, **kw)  # type: ignore[no-any-return]


class GradeSubmission(NbGraderPreprocessor):  # type: ignore[misc] # nbgrader has no type annotations
    """First pass: grade the submitted file and return the graded notebook."""

    def preprocess(
        self,
        nb: NotebookNode,  # noqa: ARG002 - the signature is nbconvert's
        resources: Resources,
    ) -> tuple[NotebookNode, Resources]:
        """Return the graded notebook in place of the empty one."""
        exporter: SubmissionExporter = self.parent
        submission = exporter.loop.submission(resources["nbgrader"]["student"])
        result = grade_submission(exporter.grader, submission, sandboxed=exporter.sandboxed)
        return exporter.loop.graded_notebook(*result), resources


class RecordAttempt(NbGraderPreprocessor):  # type: ignore[misc] # nbgrader has no type annotations
    """Second pass, instead of SaveAutoGrades: write the attempt into the gradebook and the log.

    Once the scores are there, the lines to blame are looked for.
    """

    def preprocess(self, nb: NotebookNode, resources: Resources) -> tuple[NotebookNode, Resources]:
        """Record the attempt and return its notebook, in which nothing but the attempt says more."""
        attempt = attached_attempt(nb)
        if attempt is None:
            raise NbGraderException("this notebook was not graded: run autograde with --force")
        exporter: SubmissionExporter = self.parent
        course_id = exporter.parent.coursedir.course_id
        with Gradebook(resources["nbgrader"]["db_url"], course_id) as book:
            with recording(exporter.course):
                withdrawn = record_attempt(exporter.course, book, attempt)
            for score in withdrawn:
                self.log.warning("%s: %s", attempt.student, score)
        searched = with_lines(exporter.grader, exporter.loop.submission(attempt.student), attempt)
        if searched != attempt and AttemptLog(exporter.course.reports).amend(searched):
            attach_attempt(nb, searched)
        return nb, resources


def stage(converter: Any, course: Course) -> TemporaryDirectory[str]:
    """Point nbgrader's Autograde at a folder with only names and times in it; keep what is returned.

    nbgrader lists, copies and reads everything in a student's folder, through links and without a limit. The
    autograder reads the submission itself, so nbgrader sees a folder of our own making instead. Folders whose
    names cannot be a student's are left out, with a line in the log.
    """
    place = TemporaryDirectory(prefix="submitted-")
    folder, lesson = converter.coursedir, converter.coursedir.assignment_id
    pattern = folder.format_path(folder.submitted_directory, folder.student_id, lesson)
    for found in sorted(glob.glob(pattern)):  # noqa: PTH207 - nbgrader's own pattern
        student = Path(found).parent.name
        if is_student_name(student):
            staged = Path(place.name) / student / lesson
            staged.mkdir(parents=True)
            (staged / f"{lesson}.ipynb").touch()
            copy_stamps(Submission(course, student, lesson, ""), staged)
        else:
            converter.log.warning("left out: '%s' cannot be a student's name", spelt_name(student))
    converter.coursedir = copy.copy(folder)  # formgrader goes on using its own
    converter.coursedir.submitted_directory = place.name
    converter.init_notebooks()
    return place


_graders: dict[tuple[Course, bool, str], "Grader"] = {}  # at most one: commands share it, as it starts slowly
_opened = ExitStack()


def _grader(course: Course, sandboxed: bool, version: str) -> "Grader":
    """Return a grader for this version of the lesson; start a new one if the version changed."""
    wanted = course, sandboxed, version
    if wanted not in _graders:
        close_grader()
        _graders[wanted] = _opened.enter_context(make_grader(course, sandboxed))
        _opened.callback(AttemptLog(course.reports).export)
    return _graders[wanted]


def close_grader() -> None:
    """Close the grader, if there is one, and export the log of its attempts."""
    _graders.clear()
    _opened.close()


atexit.register(close_grader)
