"""The one hierarchy of errors: each says what was expected, what came, and what to do."""

from functools import partial
from pathlib import Path


class AutograderError(Exception):
    """What this program raises; the command line reports it in one line, with exit status 2."""


class MachineError(AutograderError):
    """Something is wrong with this machine, not with the course or a submission.

    Its text ends with the command that checks the machine.
    """

    def __str__(self) -> str:
        return f"{super().__str__()}; 'autograder doctor' checks this machine"


class CourseError(AutograderError):
    """The course folder is not as it should be: no release, no permission, no such lesson."""


class SettingsError(CourseError):
    """nbgrader_config.py cannot be read, or sets something that cannot be used."""


class SubmissionError(AutograderError):
    """A file that should be graded is not a lesson notebook, or cannot be read."""


class WrongFileError(SubmissionError):
    """What was submitted cannot be taken for the lesson's notebook, although it may be readable."""


class NothingSubmittedError(SubmissionError):
    """Nothing was submitted."""


class SandboxMissingError(AutograderError):
    """There is nothing to run untrusted code in, and nobody said to go on without.

    The message has three lines: what is the matter, what to do, and how to go on without a sandbox.
    """


class RunEndedError(AutograderError):
    """A submission's process did not live to answer. The message says how that was noticed."""


class RunTimedOutError(RunEndedError):
    """It did not answer in time, and was stopped."""


class RunWaitedError(RunTimedOutError):
    """It waited for something for longer than it may take, and computed nothing meanwhile."""


class RunOutOfTimeError(RunTimedOutError):
    """The time for the submission as a whole was over before it answered."""


class RunCrashedError(RunEndedError):
    """It ended by itself, or sent something other than an answer."""


class LessonTextError(AutograderError):
    """A lesson's text breaks a rule of the build; the message names file, cell and line."""

    def __init__(self, problem: str, path: Path, *, cell: str = "", line: int = 0) -> None:
        place = f"{path.name}:{line}" if line else path.name
        super().__init__(f"{place}: cell '{cell}': {problem}" if cell else f"{place}: {problem}")
        self.problem, self.path, self.cell, self.line = problem, path, cell, line

    def __reduce__(self) -> tuple[object, ...]:
        """Keep the parts when the error crosses from one of our own processes to another."""
        return partial(LessonTextError, cell=self.cell, line=self.line), (self.problem, self.path)


class CheckDefinitionError(AutograderError):
    """The checks, mistakes or reference of an exercise contradict each other or its text."""


class StaleEditError(CheckDefinitionError):
    """A mistake's edit does not match the model answer as often as it should."""


class LectureError(AutograderError):
    """A lesson holds something that slides without a network cannot show."""


class BundleError(AutograderError):
    """The students' zip cannot be made, or would give something away."""
