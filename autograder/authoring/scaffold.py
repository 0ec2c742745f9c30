"""Writes the skeleton of a new exercise: cells in the lesson's text, checks, and mistakes."""

import keyword
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from autograder import lessons
from autograder.authoring.rules import EXERCISE_ID, belongs_to_exercise
from autograder.model.course import Course, package_of
from autograder.model.errors import CourseError
from autograder.model.files import write
from autograder.model.lesson_text import LessonText, read_lesson


def new_exercise(course: Course, lesson: str, exercise: str) -> list[Path]:
    """Write the skeleton of an exercise into a lesson, after its last counted one; return the files.

    Until the skeleton is filled in, the build stops at it and says why. Raises CourseError for an
    id that is taken or malformed, or would overwrite a file, and for a course that is not the folder of the
    program, which its checks and mistakes are part of. Raises LessonTextError for a text that cannot be read.
    """
    program = Path(lessons.__path__[0])
    if not program.resolve().is_relative_to(course.root.resolve()):
        raise CourseError(
            f"the checks of an exercise are part of the program, which is not in {course.root}; "
            "run this command in a copy of the whole project"
        )
    text = read_lesson(course.text(lesson))
    if not EXERCISE_ID.fullmatch(exercise):
        raise CourseError(f"'{exercise}' is not an id: expected lower-case words with hyphens")
    if any(header.id == exercise for header in text.exercises):
        raise CourseError(f"{text.path.name} has an exercise '{exercise}' already")
    name = exercise.replace("-", "_")
    folder = program / package_of(lesson)
    number = 1 + sum(header.points > 0 for header in text.exercises)
    words = {"id": exercise, "name": name, "number": number}
    contents = {
        text.path: _with_cells(text, _filled("text", words)),
        folder / f"{name}.py": _filled("checks", words),
        folder / f"{name}.yaml": _filled("mistakes", words),
    }
    taken = [path.name for path in contents if path != text.path and path.exists()]
    if taken or keyword.iskeyword(name):
        problem = f"{taken[0]} exists already" if taken else f"`{name}` is a word of Python"
        raise CourseError(f"'{exercise}' cannot be the id of an exercise: {problem}")
    for path, content in contents.items():
        write(path, content.encode())
    return list(contents)


def _filled(template: str, words: dict[str, object]) -> str:
    environment = Environment(
        loader=PackageLoader("autograder.authoring", "skeletons"),
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701 - Python and YAML, not HTML
    )
    return environment.get_template(f"{template}.j2").render(words)


def _with_cells(text: LessonText, cells: str) -> str:
    counted = {header.id for header in text.exercises if header.points}
    after = 1 + max(n for n, cell in enumerate(text.cells) if cell.exercise in counted)
    while after < len(text.cells) and belongs_to_exercise(text.cells[after]):
        after += 1
    lines = text.path.read_text(encoding="utf-8").splitlines(keepends=True)
    place = text.cells[after].line - 1 if after < len(text.cells) else len(lines)
    return "".join([*lines[:place], cells, *lines[place:]])
