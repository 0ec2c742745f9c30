"""One marked submission into every place that keeps it, in an order that a kill cannot spoil.

Gradebook first, then the log, then the folder: whatever is cut short is done again from the start,
and only once the folder holds the attempt does a later run pass the submission over.
"""

from nbformat import NotebookNode
from nbgrader.api import Gradebook
from nbgrader.preprocessors import AssignLatePenalties
from traitlets.config import Config

from autograder.course import Course
from autograder.record import autograded
from autograder.record.attempts import Attempt, AttemptLog
from autograder.record.gradebook import Superseded, record
from autograder.record.pages import marked_page
from autograder.record.stock import database, gradebook, quiet_logger, settings


class Recorder:
    """Writes attempts down for a course, with the gradebook kept open: use it in a `with`."""

    def __init__(self, course: Course) -> None:
        """Read the course's nbgrader settings and open its gradebook."""
        self.course, self.log = course, AttemptLog(course.reports)
        self.config: Config = settings(course)
        self.book: Gradebook = gradebook(course, self.config)

    def __enter__(self) -> "Recorder":
        return self

    def __exit__(self, *_: object) -> None:
        self.book.close()

    def keep(
        self, attempt: Attempt, notebook: NotebookNode, previous: Attempt | None
    ) -> list[Superseded]:
        """Write an attempt into gradebook, log and folder; `previous` is the student's last one.

        Returns the marks given by hand that its newer answers took back.
        """
        handed_in = autograded.handed_in(self.course, attempt.student, attempt.lesson)
        taken_back = record(self.book, attempt, previous=previous, handed_in=handed_in)
        self._penalise_lateness(attempt, notebook)
        self.log.append(attempt)
        autograded.write(self.course, attempt, marked_page(notebook, attempt))
        return taken_back

    def _penalise_lateness(self, attempt: Attempt, notebook: NotebookNode) -> None:
        """Apply nbgrader's rule for late work, or the one that nbgrader_config.py sets."""
        submission = self.book.find_submission(attempt.lesson, attempt.student)
        if submission.total_seconds_late == 0:
            return
        place = {
            "notebook": attempt.lesson,
            "assignment": attempt.lesson,
            "student": attempt.student,
            "db_url": database(self.course),
        }
        rule = AssignLatePenalties(config=self.config, log=quiet_logger())
        rule.preprocess(notebook, {"nbgrader": place})
