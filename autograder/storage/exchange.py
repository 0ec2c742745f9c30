"""nbgrader's exchange, as the course's nbgrader_config.py sets it up."""

from pathlib import Path
from typing import Any

from nbgrader.auth import Authenticator
from nbgrader.exchange import ExchangeError, ExchangeFactory
from traitlets.config import Config

from autograder.model.course import Course
from autograder.model.errors import CourseError
from autograder.model.nbgrader_config import plain_setting_errors, settings
from autograder.storage.gradebook import course_directory, quiet_logger
from autograder.submissions.submission import SECRET, TIMESTAMP

INBOUND = "inbound"


class CourseExchange:
    """The exchange of one course: where submissions arrive, and how feedback goes back."""

    def __init__(self, course: Course, inbound: Path | None = None) -> None:
        """Use the exchange that the course is set up for, or the one that `inbound` belongs to.

        Raises SettingsError if the course sets something that nbgrader refuses.
        """
        self.course, self.config = course, settings(course)
        if inbound is not None and inbound.name == INBOUND:
            named = {"Exchange": {"root": str(inbound.parents[1])}}
            self.config.merge(Config(named))
            self.config.CourseDirectory.course_id = inbound.parent.name
        with plain_setting_errors(course):
            collect = self._part("Collect", "")
        self.inbound: Path = Path(collect.root) / collect.coursedir.course_id / INBOUND
        self.checks_owner = bool(collect.check_owner)

    def _part(self, name: str, lesson: str) -> Any:
        """Return nbgrader's class for one step of the exchange, ready to start."""
        make = getattr(ExchangeFactory(config=self.config), name)
        folder = course_directory(self.course, lesson, self.config)
        return make(
            coursedir=folder,
            authenticator=Authenticator(config=self.config),
            config=self.config,
            log=quiet_logger(),
        )

    def require_inbound(self) -> Path:
        """Return the folder where submissions arrive. Raises CourseError if it is not there."""
        if not self.inbound.is_dir():
            raise CourseError(
                f"no exchange at {self.inbound}: set c.Exchange.root in nbgrader_config.py and release a "
                "lesson, or name the folder to watch; 'autograder doctor' checks this machine"
            )
        return self.inbound

    def return_feedback(self, student: str, lesson: str) -> bool:
        """Release a student's feedback page through the exchange.

        Returns False if the submission did not come through it. Raises CourseError if it fails.
        """
        folder = self.course.feedback_page(student, lesson).parent
        if not all((folder / name).is_file() for name in (SECRET, TIMESTAMP)):
            return False
        part = self._part("ReleaseFeedback", lesson)
        part.coursedir.student_id = student
        try:
            part.start()
        except (ExchangeError, OSError) as error:
            raise CourseError(f"the feedback could not be released: {error}") from error
        return True
