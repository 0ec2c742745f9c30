"""The class list, which is that of nbgrader's gradebook, and the removal of all that is kept of a student."""

import shutil
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from nbgrader.api import Gradebook, MissingEntry

from autograder.model.course import Course
from autograder.model.errors import CourseError
from autograder.model.text import clean_name, is_student_name, spelt_name
from autograder.storage.attempts import ArrivalLog, AttemptLog, forget_errors
from autograder.storage.gradebook import open_gradebook
from autograder.storage.locks import recording
from autograder.submissions.submission import Submission


@dataclass(frozen=True)
class Listed:
    """One student of the class list; what is not known of a name is empty."""

    student: str
    first_name: str = ""
    last_name: str = ""
    email: str = ""

    @property
    def full_name(self) -> str:
        """First and last name, as far as they are known."""
        return f"{self.first_name} {self.last_name}".strip()


@dataclass(frozen=True)
class Changed:
    """A student of the class list before and after an import."""

    before: Listed
    after: Listed

    def __str__(self) -> str:
        """Describe in one line what changed."""
        pairs = {
            "name": (self.before.full_name, self.after.full_name),
            "e-mail": (self.before.email, self.after.email),
        }
        changes = [f"{what} {_said(was)} → {_said(now)}" for what, (was, now) in pairs.items() if was != now]
        return f"{clean_name(self.after.student)}: {', '.join(changes)}"


def _said(text: str) -> str:
    return f"'{clean_name(text)}'" if text else "none"


def class_list(course: Course) -> list[Listed]:
    """Return the students of the class, by name of their folders."""
    with open_gradebook(course) as book:
        return listed(book)


def listed(book: Gradebook) -> list[Listed]:
    """Return the students in a gradebook that is open."""
    rows = sorted(book.students, key=lambda row: row.id)
    return [Listed(row.id, row.first_name or "", row.last_name or "", row.email or "") for row in rows]


def handed_in(course: Course) -> dict[str, list[str]]:
    """Return the lessons that each student handed in, whether or not the student is on the class list.

    With an empty folder, a student is absent from the lesson, as in the reports.
    """
    lessons, found = {*course.lessons()}, dict[str, list[str]]()
    for folder in sorted(course.submitted.glob("*/*")):
        student, lesson = folder.parent.name, folder.name
        if lesson not in lessons or not is_student_name(student):
            continue
        if not Submission(course, student, lesson, "").is_empty():
            found.setdefault(student, []).append(lesson)
    return found


def add_students(course: Course, students: Iterable[Listed]) -> tuple[list[str], list[Changed]]:
    """Put students on the class list; return who is new, and whose names or e-mails were changed.

    What is empty leaves the gradebook's entry as it is. A name replaces the whole name, unless both read the
    same. Raises CourseError, and adds nobody, if an id can't name a folder, or if two differ only in case.
    """
    before = {each.student: each for each in class_list(course)}
    spelt = {name.casefold(): name for name in before}
    wanted = list(students)
    for each in wanted:
        if not is_student_name(each.student):
            raise CourseError(
                f"'{spelt_name(each.student)}' cannot be a student's id: it names a folder, so it has "
                'none of / \\ < > " & * ? [ ] `, no sign or space at its start and no invisible characters'
            )
        if (other := spelt.setdefault(each.student.casefold(), each.student)) != each.student:
            raise CourseError(
                f"'{each.student}' and '{other}' differ only in case: one person has one id; change the "
                "file, or remove the other with 'autograder students --remove'"
            )
    with open_gradebook(course) as book:
        for each in wanted:
            said = {name: value for name, value in vars(each).items() if value and name != "student"}
            if each.first_name or each.last_name:
                same = each.student in before and before[each.student].full_name == each.full_name
                names = before[each.student] if same else each
                said |= {"first_name": names.first_name, "last_name": names.last_name}
            book.update_or_create_student(each.student, **said)
    new = [each.student for each in wanted if each.student not in before]
    after = {each.student: each for each in class_list(course)}
    return new, [Changed(each, after[name]) for name, each in before.items() if after[name] != each]


def remove_student(course: Course, student: str) -> None:
    """Remove a student with all that the course keeps: submissions, feedback, attempts, scores.

    The gradebook comes last, so that a removal that was cut short can be repeated. The reports of the class
    are the caller's to publish again. Exported files stay.
    """
    with recording(course):  # a class run may be about to record the student
        for place in _folders(course, student):
            if place.is_symlink():
                place.unlink()
            elif place.is_dir():
                shutil.rmtree(place)
        AttemptLog(course.reports).forget(student)
        ArrivalLog(course.reports).forget(student)
        forget_errors(course.reports, student)
        with open_gradebook(course) as book, suppress(MissingEntry):  # handed in, and never graded
            book.remove_student(student)


def kept_of(course: Course, student: str) -> list[Path]:
    """Return the folders with a student's work and feedback."""
    return [folder for folder in _folders(course, student) if folder.exists()]


def _folders(course: Course, student: str) -> list[Path]:
    return [folder / student for folder in (course.submitted, course.autograded, course.feedback)]
