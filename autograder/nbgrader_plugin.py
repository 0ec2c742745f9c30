"""nbgrader's own autograde command, and the formgrader's button, with our marking inside.

nbgrader converts a submission twice: first to put the master's cells back, then to run it. Here
the first pass marks the submitted file and lays the answers over the master; the second writes
the marks down. nbgrader_config.py names the classes below at nbgrader's extension points.
"""

import atexit
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import nbformat
from nbconvert.exporters import NotebookExporter
from nbformat import NotebookNode
from nbgrader.api import Gradebook
from nbgrader.converters.base import NbGraderException
from nbgrader.preprocessors import NbGraderPreprocessor
from traitlets import Bool

from autograder.build import register
from autograder.course import Course
from autograder.errors import AutograderError
from autograder.record import autograded
from autograder.record.attempts import AttemptLog
from autograder.record.gradebook import record
from autograder.record.handed import Handed
from autograder.record.marking import Marking, mark
from autograder.record.pages import attempt_of, marked_page
from autograder.record.pool import make_marker
from autograder.record.version import lesson_version

Resources = dict[str, Any]  # nbconvert's, with nbgrader's entries in it


class SubmissionExporter(NotebookExporter):  # type: ignore[misc] # nbconvert comes without types
    """Passes submissions on unread in the marking pass: a broken file is marked, not raised.

    Made once per command, before any submission: it makes ready what marking needs, and stops the
    command with one clear line if there is no sandbox.
    """

    sandboxed = Bool(True, help="Whether students' code runs in a sandbox.").tag(config=True)

    def __init__(self, config: Any = None, **kw: Any) -> None:
        """Start the marker, or end the command."""
        super().__init__(config=config, **kw)
        folder = self.parent.coursedir
        self.course = Course(Path(folder.root))
        try:
            register(self.course, folder.assignment_id)
            self.version = lesson_version(self.course, folder.assignment_id)
            self.marker = _marker(self.course, self.sandboxed, self.version)
        except AutograderError as error:
            self.log.error(str(error))  # noqa: TRY400 - nbgrader shows only what is logged
            raise NbGraderException(str(error)) from error

    def from_filename(
        self, filename: str, resources: Resources | None = None, **kw: Any
    ) -> tuple[str, Resources]:
        """Convert a file; a submission's content is left to the marker."""
        if not any(isinstance(step, Mark) for step in self._preprocessors):
            return super().from_filename(filename, resources, **kw)  # type: ignore[no-any-return]
        nothing = nbformat.v4.new_notebook()
        return self.from_notebook_node(nothing, resources, **kw)  # type: ignore[no-any-return]


class Mark(NbGraderPreprocessor):  # type: ignore[misc] # nbgrader comes without types
    """First pass: mark the submitted file; the aligned answers with the explanations come out."""

    def preprocess(
        self,
        nb: NotebookNode,  # noqa: ARG002 - nbconvert's own signature
        resources: Resources,
    ) -> tuple[NotebookNode, Resources]:
        """Return the marked page in place of the empty notebook."""
        exporter: SubmissionExporter = self.parent
        place = resources["nbgrader"]
        handed = Handed(exporter.course, place["student"], place["assignment"], exporter.version)
        attempt, notebook = mark(exporter.marker, handed, sandboxed=exporter.sandboxed)
        return marked_page(notebook, attempt), resources


class Record(NbGraderPreprocessor):  # type: ignore[misc] # nbgrader comes without types
    """Second pass, in the place of SaveAutoGrades: write the attempt into gradebook and log."""

    def preprocess(self, nb: NotebookNode, resources: Resources) -> tuple[NotebookNode, Resources]:
        """Return the page unchanged, recorded."""
        attempt = attempt_of(nb)
        if attempt is None:
            raise NbGraderException("this notebook was not marked: run autograde with --force")
        course: Course = self.parent.course
        log = AttemptLog(course.reports)
        previous = log.last(attempt.student, attempt.lesson)
        handed_in = autograded.handed_in(course, attempt.student, attempt.lesson)
        course_id = self.parent.parent.coursedir.course_id
        with Gradebook(resources["nbgrader"]["db_url"], course_id) as book:
            for taken_back in record(book, attempt, previous=previous, handed_in=handed_in):
                self.log.warning("%s: %s", attempt.student, taken_back)
        log.append(attempt)
        return nb, resources


class _Held:
    """The one marker of this process: starting one takes seconds, so commands share it."""

    wanted: tuple[Course, bool, str] | None = None
    stack: ExitStack = ExitStack()
    marker: Marking


def _marker(course: Course, sandboxed: bool, version: str) -> Marking:
    """Return a marker for this state of the lesson, made afresh only if it is another."""
    wanted = (course, sandboxed, version)
    if _Held.wanted != wanted:
        close_marker()
        _Held.marker = _Held.stack.enter_context(make_marker(course, sandboxed))
        _Held.wanted = wanted
    return _Held.marker


def close_marker() -> None:
    """End the marker, if there is one."""
    _Held.wanted = None
    _Held.stack.close()


atexit.register(close_marker)
