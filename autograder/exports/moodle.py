"""Moodle's grading worksheet, filled in, and the zip of feedback files that goes with it.

The rules are those of Moodle's documentation and of its two importers:
https://docs.moodle.org/en/Using_Assignment
https://github.com/moodle/moodle/blob/main/mod/assign/feedback/offline/importgradeslib.php
https://github.com/moodle/moodle/blob/main/mod/assign/feedback/file/importziplib.php
Moodle knows a student by the Identifier ("Participant 1234"), which differs from assignment to
assignment and is only in the worksheet that Moodle itself exports. That worksheet is the roster here.
An empty grade leaves Moodle's as it is, and a grade above the maximum is ignored without a word.
"""

import re

from autograder.exports.class_scores import LessonScores
from autograder.exports.roster import Person, Roster, stated_points
from autograder.model.course import Course
from autograder.model.errors import CourseError
from autograder.model.files import zipped
from autograder.reports.csv_file import csv_text
from autograder.reports.student_pages import TO_INDEX

GRADE, MAXIMUM = "Grade", "Maximum Grade"
REQUIRED = ("Identifier", GRADE, "Last modified (grade)")
# Comments and texts of submissions stay out: importing them again could change them.
COLUMNS = (
    "Identifier", "Full name", "ID number", "Email address", "Status", GRADE, MAXIMUM,
    "Grade can be changed", "Last modified (submission)", "Last modified (grade)",
)  # fmt: skip
PARTICIPANT = re.compile(r"\d+$")
PLUGIN = "assignfeedback_file"
SHOWN = {".html", ".css", ".svg", ".png"}  # never the secret that lies beside a page


def worksheet(scores: LessonScores, worksheet: Roster, *, partial: bool) -> str:
    """Return Moodle's worksheet with the grades of one lesson in it.

    Raises CourseError if the roster is not such a worksheet, or if the assignment's maximum grade is
    not the lesson's.
    """
    spelt = {heading.casefold(): heading for heading in worksheet.headings}  # Moodle's capitals have changed
    missing = [title for title in REQUIRED if title.casefold() not in spelt]
    if missing:
        told = "a gradebook of Canvas" if worksheet.system == "Canvas" else "no such worksheet"
        what = f"the roster is {told}: it has no column '{missing[0]}'; "
        raise CourseError(
            f"an export for Moodle fills in its grading worksheet; {what if worksheet.headings else ''}"
            "export the worksheet of this assignment in English, and give it with --roster"
        )
    columns = [spelt[title.casefold()] for title in COLUMNS if title.casefold() in spelt]
    most = spelt.get(MAXIMUM.casefold(), "")
    known = worksheet.known(sorted(scores.scores))
    graded = {id(person): student for student, person in known.items()}
    rows = []
    for person in worksheet.people:
        _require_same_maximum(person.row.get(most, ""), scores)
        student = graded.get(id(person), "")
        grade = scores.cell(student, partial=partial)
        rows.append([grade if title == spelt[GRADE.casefold()] else person.row[title] for title in columns])
    return csv_text([columns, *rows])


def _require_same_maximum(stated: str, scores: LessonScores) -> None:
    if stated_points(stated) not in (None, scores.max_score):
        raise CourseError(
            f"Moodle's maximum grade is {stated}, the points of {scores.lesson} are "
            f"{scores.max_score:g}: set the maximum grade of the assignment to {scores.max_score:g}, "
            "and export the worksheet again"
        )


def feedback_zip(course: Course, scores: LessonScores, worksheet: Roster) -> bytes:
    """Return a zip with the feedback of each student, in the folders that Moodle expects.

    Its pages don't link to the student's index, which Moodle has no place for.
    """
    known = worksheet.known(sorted(scores.scores))
    files = {}
    for student, person in known.items():
        folder = course.feedback_page(student, scores.lesson).parent
        for path in folder.rglob("*"):
            if path.is_file() and path.suffix in SHOWN:
                inside = path.relative_to(folder).as_posix()
                content = path.read_bytes().replace(TO_INDEX.encode(), b"")
                files[f"{feedback_folder(person)}/{inside}"] = content
    return zipped(files)


def feedback_folder(person: Person) -> str:
    """Return the folder of a student's feedback, "Full name_1234_assignfeedback_file".

    Moodle splits it at underscores, so that a name has none.
    """
    match = PARTICIPANT.search(person.moodle_id)
    if match is None:
        raise CourseError(
            f"'{person.moodle_id}' is not an identifier of Moodle's: expected 'Participant 1234'"
        )
    name = re.sub(r'[_/\\:*?"<>|\x00-\x1f]', " ", person.full_name).strip(" .") or "Student"
    return f"{name}_{match[0]}_{PLUGIN}"
