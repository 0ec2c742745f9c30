"""Records an attempt in every place that keeps it, in an order that survives a kill at any time.

The gradebook comes first, then the log, then the folder. A later run skips a submission only if
the folder holds its newest attempt, so anything that was cut short is done again from the start.
"""

from nbformat import NotebookNode
from nbgrader.api import Gradebook
from nbgrader.preprocessors import AssignLatePenalties

from autograder.model.course import Course
from autograder.model.nbgrader_config import database_url, settings
from autograder.storage import autograded
from autograder.storage.attempts import Attempt, AttemptLog, log_error
from autograder.storage.gradebook import Withdrawn, open_gradebook, quiet_logger, write_scores
from autograder.submissions.submission import Submission


def record_attempt(course: Course, book: Gradebook, attempt: Attempt) -> list[Withdrawn]:
    """Write an attempt into the gradebook, then into the logs.

    Returns the scores given by hand that were withdrawn because the answers have changed.
    """
    log = AttemptLog(course.reports)
    submission = Submission(course, attempt.student, attempt.lesson, attempt.version)
    withdrawn = write_scores(
        book,
        attempt,
        previous=log.last(attempt.student, attempt.lesson),
        submitted_at=autograded.submission_time(submission),
    )
    if attempt.detail:
        subject = f"{attempt.student}, {attempt.lesson}"
        log_error(course.reports, attempt.graded_at, subject, attempt.detail)
    log.append(attempt)
    return withdrawn


class Recorder:
    """Records the attempts of a class run and keeps the gradebook open: use it in a `with`."""

    def __init__(self, course: Course) -> None:
        """Read the course's nbgrader settings and open its gradebook."""
        self.course, self.config = course, settings(course)
        self.book = open_gradebook(course)

    def __enter__(self) -> "Recorder":
        return self

    def __exit__(self, *_: object) -> None:
        self.book.close()

    def keep(self, attempt: Attempt, page: NotebookNode) -> list[Withdrawn]:
        """Record an attempt and its page; return as `record_attempt` does.

        nbgrader's rule for late work applies, or the one that nbgrader_config.py sets.
        """
        student, lesson = attempt.student, attempt.lesson
        withdrawn = record_attempt(self.course, self.book, attempt)
        if self.book.find_submission(lesson, student).total_seconds_late:
            place = {"notebook": lesson, "assignment": lesson, "student": student}
            rule = AssignLatePenalties(config=self.config, log=quiet_logger())
            rule.preprocess(page, {"nbgrader": place | {"db_url": database_url(self.course)}})
        autograded.write(self.course, attempt, page)
        return withdrawn
