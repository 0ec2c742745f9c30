"""The course: its folder, nbgrader's configuration, the gradebook, the exchange."""

import os
import tempfile

from autograder.doctor.finding import Finding, ok, problem, warning
from autograder.model.course import CONFIG, Course
from autograder.model.errors import AutograderError
from autograder.model.nbgrader_config import gradebook_place, in_a_file, settings
from autograder.storage.exchange import CourseExchange
from autograder.storage.gradebook import open_gradebook
from autograder.storage.io_errors import plain_database_errors

PLUGINS = {  # without the first, nbgrader runs submissions in a kernel of its own, without a sandbox
    "Autograde": "autograder.nbgrader_plugin.SubmissionExporter",
    "GenerateFeedback": "autograder.reports.feedback_exporter.FeedbackExporter",
}


def writable(course: Course) -> Finding:
    """Check whether the folders and files that grading writes can be written."""
    folders = [course.root, course.reports, course.feedback, course.autograded]
    files = [course.gradebook, course.key, course.results]
    for folder in filter(os.path.isdir, folders):
        try:
            tempfile.TemporaryFile(dir=folder).close()
        except OSError as error:
            return problem(
                f"{folder} cannot be written: {error.strerror}", f"give yourself write permission to {folder}"
            )
    for file in filter(os.path.exists, files):
        if not os.access(file, os.R_OK | os.W_OK):
            return problem(f"{file} cannot be read and written", f"give yourself permission to {file}")
    return ok(str(course.root))


def configuration(course: Course) -> Finding:
    """Check whether nbgrader's configuration can be read, and names the autograder."""
    path = course.root / CONFIG
    try:
        found = settings(course)
    except Exception as error:  # the configuration is Python code and may raise anything
        return problem(f"{path}: {type(error).__name__}: {error}", f"correct {CONFIG}")
    for command, plugin in PLUGINS.items():
        if found[command].get("exporter_class") != plugin:
            return problem(
                f"{path} does not plug the autograder into nbgrader's {command}",
                f'set c.{command}.exporter_class = "{plugin}", as the project\'s own {CONFIG} does',
            )
    return ok(str(path))


def gradebook(course: Course) -> Finding:
    """Check whether the gradebook can be opened."""
    place = gradebook_place(course)
    if in_a_file(course) and not course.gradebook.exists():
        return ok(f"{place} will be created when something is graded")
    try:
        with plain_database_errors(place), open_gradebook(course) as book:
            return ok(f"{place}, with {len(book.students)} students")
    except AutograderError as error:
        return problem(str(error), "restore the gradebook from a backup, or move it away")


def exchange(course: Course) -> Finding:
    """Check whether nbgrader's exchange is there."""
    inbound = CourseExchange(course).inbound
    if not inbound.is_dir():
        return warning(
            f"none at {inbound}",
            f"for 'autograder watch' or JupyterHub, set c.Exchange.root in {CONFIG} and release a lesson",
        )
    if not os.access(inbound, os.R_OK | os.X_OK):
        return warning(f"{inbound} cannot be read", "start 'autograder watch' as the course's owner")
    return ok(str(inbound))
