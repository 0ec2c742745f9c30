"""What nbgrader's own commands see of the submissions: for each student a notebook's name and a time.

nbgrader lists, copies and reads everything in a student's folder, through links and without a limit. The
autograder reads the submission itself, so nbgrader is shown a folder of our own making instead.
"""

import copy
import glob
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from autograder.model.course import Course
from autograder.model.text import clean_name, is_student_name
from autograder.storage.autograded import submission_time
from autograder.submissions.submission import SECRET, TIMESTAMP, Submission


def stage(converter: Any, course: Course) -> TemporaryDirectory[str]:
    """Point nbgrader's Autograde at a folder that holds nothing of a student's; keep what is returned.

    Folders whose names cannot be a student's are left out, with a line in the log.
    """
    place = TemporaryDirectory(prefix="submitted-")
    folder, lesson = converter.coursedir, converter.coursedir.assignment_id
    pattern = folder.format_path(folder.submitted_directory, folder.student_id, lesson)
    for found in sorted(glob.glob(pattern)):  # noqa: PTH207 - nbgrader's own pattern
        student = Path(found).parent.name
        if is_student_name(student):
            _stage(Submission(course, student, lesson, ""), Path(place.name))
        else:
            converter.log.warning("left out: '%s' cannot be a student's name", clean_name(student))
    converter.coursedir = copy.copy(folder)  # formgrader goes on using its own
    converter.coursedir.submitted_directory = place.name
    converter.init_notebooks()
    return place


def _stage(submission: Submission, place: Path) -> None:
    folder = place / submission.student / submission.lesson
    folder.mkdir(parents=True)
    (folder / f"{submission.lesson}.ipynb").touch()
    if submission_time(submission) is not None:
        (folder / TIMESTAMP).write_text(submission.submitted_at(), encoding="ascii")
    if secret := submission.secret():
        (folder / SECRET).write_text(secret, encoding="ascii")
