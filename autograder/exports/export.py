"""Writes the files of one format: `autograder export FORMAT`."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from autograder.exports import AUTOGRADER
from autograder.exports.canvas import SETTING, canvas_csv, column_titles
from autograder.exports.class_scores import ClassScores, class_scores, course_csv, nbgrader_csv
from autograder.exports.gradescope import gradescope_zip, results_json
from autograder.exports.moodle import feedback_zip, worksheet
from autograder.exports.roster import Person, Roster, stated_points
from autograder.model.course import CONFIG, Course
from autograder.model.errors import CourseError
from autograder.model.files import write
from autograder.model.text import counted, some_of
from autograder.reports.feedback_exporter import renew_penalties

ONE_NUMBER = {"nbgrader", "canvas", "moodle"}  # a lesson has one cell, without room for "pending"
# What adds up scores itself has to be told by hand that a lesson is extra.
IN_NO_TOTAL = {
    "canvas": "tick 'Do not count this assignment towards the final grade' in its assignment in Canvas",
    "moodle": "set its weight to 0 in the gradebook setup of Moodle",
}
BY_CLASS_LIST = {"nbgrader", "course", "canvas"}  # without a roster, names are those of the class list
PRIVATE = "the zip holds model answers, checks and the lesson's key: keep it to instructors"

File = tuple[str, bytes]  # its name below the folder of exports, and its content


@dataclass(frozen=True)
class Wanted:
    """What to export: these lessons, or all; with pending points left out, or the points so far."""

    lessons: Sequence[str] = ()
    roster: Roster = field(default_factory=Roster)
    partial: bool = False
    sandboxed: bool = True


def export(course: Course, name: str, wanted: Wanted, folder: Path) -> tuple[list[Path], list[str]]:
    """Write the files of the format `name` to a folder.

    Returns their paths, and what to know about them, a line for each. Raises CourseError for what the
    format cannot hold.
    """
    files: Iterable[File]
    if name == AUTOGRADER:
        notes = [PRIVATE]
        files = (
            (f"{name}-{lesson}.zip", gradescope_zip(course, lesson, sandboxed=wanted.sandboxed))
            for lesson in wanted.lessons or course.lessons()
        )
    else:
        renewed = [len(renew_penalties(course, each)) for each in wanted.lessons or course.lessons()]
        scores = class_scores(course, wanted.lessons)
        wanted = replace(wanted, roster=wanted.roster.with_emails(scores.class_list))
        files, notes = [*_files(course, name, scores, wanted)], _notes(course, name, scores, wanted)
        if changed := sum(renewed):
            notes.append(
                f"penalties for lateness changed for {counted(changed, 'submission')}; 'autograder grade' "
                "brings the feedback pages up to date"
            )
    paths = []
    for file, content in files:
        write(folder / file, content)
        paths.append(folder / file)
    return paths, notes


def _files(course: Course, name: str, scores: ClassScores, wanted: Wanted) -> Iterator[File]:
    roster, partial = wanted.roster, wanted.partial
    if name in BY_CLASS_LIST and not roster.headings:
        roster = _of_class(scores)
    if name == "nbgrader":
        yield "nbgrader.csv", nbgrader_csv(scores, roster, partial=partial).encode()
    elif name == "canvas":
        titles = column_titles(course, scores, roster)
        yield "canvas.csv", canvas_csv(scores, roster, titles, partial=partial).encode()
    elif name == "course":
        yield "course.csv", course_csv(scores, roster).encode()
    elif name == "moodle":
        if len(scores.lessons) != 1:
            raise CourseError(
                "a grading worksheet of Moodle belongs to one assignment: name one lesson, as in "
                "'autograder export moodle 03 --roster WORKSHEET.csv'"
            )
        (lesson,) = scores.lessons
        yield f"moodle-{lesson.lesson}.csv", worksheet(lesson, roster, partial=partial).encode()
        yield f"moodle-{lesson.lesson}-feedback.zip", feedback_zip(course, lesson, roster)
    else:
        for lesson in scores.lessons:
            for student, score in lesson.scores.items():
                text = results_json(
                    score.report, sandboxed=score.sandboxed, penalty=score.penalty, comments=score.comments
                )
                yield f"gradescope/{lesson.lesson}/{student}/results.json", text.encode()


def _of_class(scores: ClassScores) -> Roster:
    """Return the class list as a roster: students by the names of their folders, and by nothing else."""
    people = [
        Person(one.student, first_name=one.first_name, last_name=one.last_name, email=one.email)
        for one in scores.class_list
    ]
    return Roster(people, keys=("student",))


def _notes(course: Course, name: str, scores: ClassScores, wanted: Wanted) -> list[str]:
    notes = [*wanted.roster.notes]
    if (pending := scores.pending()) and name in ONE_NUMBER and not wanted.partial:
        notes.append(
            f"{counted(pending, 'score')} left empty, because points are pending: "
            "grade them with 'autograder written' or in formgrader, or say --partial for the points so far"
        )
    for lesson in scores.lessons if name == "moodle" else ():
        cells = {student: lesson.cell(student, partial=wanted.partial) for student in lesson.scores}
        above = [student for student, points in cells.items() if (points or 0.0) > lesson.max_score]
        if above:  # with extra credit
            notes.append(
                f"above the maximum grade of {lesson.max_score:g}, so Moodle ignores them: the scores of "
                f"{some_of(sorted(above))}"
            )
    if name in IN_NO_TOTAL:
        extra = (lesson.lesson for lesson in scores.lessons if lesson.is_extra)
        notes += [f"{lesson} is extra: {IN_NO_TOTAL[name]}" for lesson in extra]
    known = wanted.roster.known(scores.students)
    unknown = [student for student in scores.students if student not in known]
    if wanted.roster.people and unknown:
        are = "student is" if len(unknown) == 1 else "students are"
        notes.append(f"{len(unknown)} {are} not on the roster: {some_of(unknown)}")
    worked = {student for lesson in scores.lessons for student in lesson.scores}
    idle = wanted.roster.without({student: who for student, who in known.items() if student in worked})
    if idle:
        names = some_of(wanted.roster.names(idle))
        notes.append(f"{len(idle)} of {len(wanted.roster.people)} on the roster handed in nothing: {names}")
    if name == "canvas" and wanted.roster.system != "Canvas":
        notes.append(
            "without the gradebook that Canvas exports, Canvas finds students by login, and here that is the "
            "student's id: if these differ, give that file with --roster"
        )
    if name == "canvas" and wanted.roster.headings:
        titles = column_titles(course, scores, wanted.roster)
        notes += [
            f"no column of the roster is {lesson}, so Canvas will offer to make one; to name its column, set "
            f"{SETTING} in {CONFIG}"
            for lesson, title in titles.items()
            if title not in wanted.roster.headings
        ]
        for lesson in scores.lessons:
            title = titles[lesson.lesson]
            stated = stated_points(wanted.roster.points.get(title, ""))
            if stated not in (None, lesson.max_score):
                notes.append(
                    f"'{title}' has {stated:g} points in Canvas, and {lesson.lesson} has "
                    f"{lesson.max_score:g}: Canvas keeps its own, so set the points of the assignment to "
                    f"{lesson.max_score:g} there"
                )
    return notes
