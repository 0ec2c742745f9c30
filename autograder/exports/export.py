"""Writes the files of one format: `autograder export FORMAT`."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from autograder.authoring.files import write
from autograder.exports.canvas import canvas_csv
from autograder.exports.class_scores import ClassScores, LessonScores, class_scores
from autograder.exports.course_csv import course_csv
from autograder.exports.gradescope import results_json
from autograder.exports.gradescope_zip import gradescope_zip
from autograder.exports.moodle import feedback_zip, worksheet
from autograder.exports.nbgrader_csv import nbgrader_csv
from autograder.exports.roster import Roster
from autograder.model.course import Course
from autograder.model.errors import CourseError

File = tuple[str, bytes]  # its name below the folder of exports, and its content


@dataclass(frozen=True)
class Wanted:
    """What to export: these lessons, or all; with pending points left out, or the points so far."""

    lessons: Sequence[str] = ()
    roster: Roster = field(default_factory=Roster)
    partial: bool = False
    sandboxed: bool = True


@dataclass(frozen=True)
class Exported:
    """The files that were written, and what to know about them, a line for each."""

    paths: list[Path]
    notes: list[str]


def export(course: Course, name: str, wanted: Wanted, folder: Path) -> Exported:
    """Write the files of the format `name` to a folder. Raises CourseError for what it cannot hold."""
    if name == AUTOGRADER:
        files, notes = _gradescope_autograder(course, wanted), [PRIVATE]
    else:
        scores = class_scores(course, wanted.lessons)
        files, notes = FORMATS[name](course, scores, wanted), _notes(name, scores, wanted)
    paths = []
    for file, content in files:
        write(folder / file, content)
        paths.append(folder / file)
    return Exported(paths, notes)


def _notes(name: str, scores: ClassScores, wanted: Wanted) -> list[str]:
    notes = []
    if (pending := scores.pending()) and name in ONE_NUMBER and not wanted.partial:
        notes.append(
            f"{pending} score{'' if pending == 1 else 's'} left empty, because points are pending: "
            "grade them in formgrader, or say --partial for the points so far"
        )
    if name == "moodle":
        notes += [note for lesson in scores.lessons for note in _above_maximum(lesson, wanted)]
    _, unknown = wanted.roster.split(scores.students)
    if wanted.roster.people and unknown:
        notes.append(f"not on the roster: {', '.join(unknown)}")
    return notes


def _above_maximum(lesson: LessonScores, wanted: Wanted) -> Iterator[str]:
    """Yield a note if extra credit takes scores above the maximum grade of Moodle's assignment."""
    cells = {student: lesson.cell(student, partial=wanted.partial) for student in lesson.scores}
    above = [student for student, points in cells.items() if (points or 0.0) > lesson.max_score]
    if above:
        yield (
            f"above the maximum grade of {lesson.max_score:g}, so Moodle ignores them: the scores of "
            f"{', '.join(sorted(above))}"
        )


def _nbgrader(_: Course, scores: ClassScores, wanted: Wanted) -> Iterator[File]:
    text = nbgrader_csv(scores, wanted.roster, partial=wanted.partial)
    yield "nbgrader.csv", text.encode()


def _canvas(_: Course, scores: ClassScores, wanted: Wanted) -> Iterator[File]:
    yield "canvas.csv", canvas_csv(scores, wanted.roster, partial=wanted.partial).encode()


def _course(_: Course, scores: ClassScores, wanted: Wanted) -> Iterator[File]:
    yield "course.csv", course_csv(scores, wanted.roster).encode()


def _moodle(course: Course, scores: ClassScores, wanted: Wanted) -> Iterator[File]:
    if len(scores.lessons) != 1:
        raise CourseError(
            "a grading worksheet of Moodle belongs to one assignment: name one lesson, as in "
            "'autograder export moodle 03 --roster WORKSHEET.csv'"
        )
    (lesson,) = scores.lessons
    text = worksheet(lesson, wanted.roster, partial=wanted.partial)
    yield f"moodle-{lesson.lesson}.csv", text.encode()
    yield f"moodle-{lesson.lesson}-feedback.zip", feedback_zip(course, lesson, wanted.roster)


def _gradescope(_: Course, scores: ClassScores, __: Wanted) -> Iterator[File]:
    for lesson in scores.lessons:
        for student, score in lesson.scores.items():
            text = results_json(
                score.report, sandboxed=score.sandboxed, penalty=score.penalty, comments=score.comments
            )
            yield f"gradescope/{lesson.lesson}/{student}/results.json", text.encode()


def _gradescope_autograder(course: Course, wanted: Wanted) -> Iterator[File]:
    for lesson in wanted.lessons or course.lessons():
        content = gradescope_zip(course, lesson, sandboxed=wanted.sandboxed)
        yield f"gradescope-autograder-{lesson}.zip", content


FORMATS: dict[str, Callable[[Course, ClassScores, Wanted], Iterator[File]]] = {
    "nbgrader": _nbgrader,
    "canvas": _canvas,
    "moodle": _moodle,
    "gradescope": _gradescope,
    "course": _course,
}
AUTOGRADER = "gradescope-autograder"  # the one that is about checks, not about scores
ONE_NUMBER = {"nbgrader", "canvas", "moodle"}  # a lesson has one cell, without room for "pending"
PRIVATE = "the zip holds model answers, checks and the lesson's key: keep it to instructors"
NAMES = (*FORMATS, AUTOGRADER)
