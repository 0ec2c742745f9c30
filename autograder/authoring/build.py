"""The build: parse, verify, notebook, release, verify the release, model answers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from autograder.authoring.examples import examples_current, examples_files, examples_place
from autograder.authoring.execute import run
from autograder.authoring.files import (
    difference,
    files_in,
    parse_notebook,
    read_notebook,
    refused,
    remove,
    was_run,
    write,
)
from autograder.authoring.images import FOLDER, check_images, images_of
from autograder.authoring.nbgrader_release import generate
from autograder.authoring.notebook import as_text, instructor_notebook, solution_notebook
from autograder.authoring.validate import validate
from autograder.authoring.verify import verify
from autograder.authoring.verify_release import verify_release
from autograder.lessons.loading import with_checks
from autograder.model.course import Course
from autograder.model.errors import CourseError, OutOfDateError
from autograder.model.exercise import Lesson
from autograder.model.lesson_text import LessonText, read_lesson


@dataclass(frozen=True)
class Built:
    """What a lesson's text makes: files by their place in the course, and the answers, not run."""

    lesson: LessonText
    checks: Lesson
    files: dict[Path, bytes]
    solution: Any  # a NotebookNode, which nbformat leaves untyped


def build(course: Course, lessons: Sequence[str] | None = None, *, execute: bool = True) -> list[Path]:
    """Build lessons (all by default) and return the files that were written, in order.

    Public examples are written first, since the cards in the model answers read them. Of the rest
    of a lesson nothing is written unless all of it could be made. Model answers are run again only
    where their cells changed, and never without `execute`. Raises LessonTextError for a text
    that breaks a rule, CourseError for files in a lesson's folder that the build did not make.
    """
    written: list[Path] = []
    for name in _names(course, lessons):
        built = assemble(course, name)
        stale = _leftovers(course, built)
        for make in (_examples, partial(_solved, execute=execute)):
            made = make(course, built)
            written += [course.root / at for at, new in made.items() if write(course.root / at, new)]
        remove(stale)
    return written


def check(course: Course, lessons: Sequence[str] | None = None) -> None:
    """Raise OutOfDateError listing what differs from what the texts make now; writes nothing.

    What counts are the cells of notebooks (sources and metadata), the pictures' bytes, and that
    every model answer was run. A text that cannot be built raises as `build` does.
    """
    stale = [line for name in _names(course, lessons) for line in _stale(course, name)]
    if stale:
        listed = "".join(f"\n  {line}" for line in stale)
        raise OutOfDateError(f"out of date, run 'autograder build':{listed}")


def assemble(course: Course, name: str) -> Built:
    """Make everything of one lesson except the outputs of its model answers; write nothing."""
    lesson = read_lesson(course.text(name))
    verify(lesson)
    checks = with_checks(lesson)
    validate(checks)
    check_images(lesson, course.images)
    with TemporaryDirectory() as folder:
        stage = Course(Path(folder).resolve())
        _stage(stage, course, lesson)
        verify_release(lesson, read_notebook(generate(stage.root, name) / f"{name}.ipynb"))
        files = {path.relative_to(stage.root): path.read_bytes() for path in files_in(stage.root)}
    return Built(lesson, checks, files, solution_notebook(lesson))


def _examples(course: Course, built: Built) -> dict[Path, bytes]:
    """Return the files of a lesson's public examples, unless those on disk are current."""
    current = examples_current(course.root, built.checks)
    return {} if current else examples_files(built.checks)


def _stage(stage: Course, course: Course, lesson: LessonText) -> None:
    notebook = as_text(instructor_notebook(lesson)).encode()
    write(stage.source_notebook(lesson.name), notebook)
    for image in images_of(lesson):
        picture = (course.images / image).read_bytes()
        write(stage.source / lesson.name / FOLDER / image, picture)
        write(stage.solutions / FOLDER / image, picture)


def _names(course: Course, lessons: Sequence[str] | None) -> list[str]:
    names = course.lessons() if lessons is None else list(lessons)
    if not names:
        raise CourseError(f"no lessons: expected texts such as {course.text('03_attention')}")
    return names


def _solution_path(course: Course, name: str) -> Path:
    return course.solutions / f"{name}.ipynb"


def _solved(course: Course, built: Built, *, execute: bool) -> dict[Path, bytes]:
    """Return the lesson's files with its model answers, unless those on disk are current."""
    path = _solution_path(course, built.lesson.name)
    old = read_notebook(path)
    same = not difference(old, built.solution)
    if same and (not execute or not _unfinished(old)):
        return built.files
    solution = run(built.solution, built.lesson, course.root) if execute else built.solution
    return built.files | {path.relative_to(course.root): as_text(solution).encode()}


def _leftovers(course: Course, built: Built) -> list[Path]:
    """Return pictures the lesson no longer shows; CourseError for any other file in its folders."""
    name = built.lesson.name
    folders = (course.source / name, course.release / name)
    found = [path for folder in folders for path in files_in(folder)]
    extra = [path for path in found if path.relative_to(course.root) not in built.files]
    strays = [path for path in extra if path.parent.name != FOLDER]
    if strays:
        problem = f"'{strays[0].relative_to(course.root)}' was not made by the build"
        raise CourseError(f"{problem}: nbgrader hands out all that lies there, so move it away")
    return extra + _unshown(course)


def _unshown(course: Course) -> list[Path]:
    """Return pictures beside the model answers that no lesson's text names."""
    texts = [course.text(name).read_text(encoding="utf-8") for name in course.lessons()]
    pictures = files_in(course.solutions / FOLDER)
    return [p for p in pictures if not any(f"{FOLDER}/{p.name}" in text for text in texts)]


def _stale(course: Course, name: str) -> Iterator[str]:
    built = assemble(course, name)
    for at, content in built.files.items():
        problem = _difference(course.root / at, content)
        if problem:
            yield f"{at}: {problem}"
    for path in _leftovers(course, built):
        yield f"{path.relative_to(course.root)}: left over"
    if not examples_current(course.root, built.checks):
        yield f"{examples_place(built.checks)}: missing or different"
    path = _solution_path(course, name)
    old = read_notebook(path)
    problem = difference(old, built.solution) or _unfinished(old)
    if problem:
        yield f"{path.relative_to(course.root)}: {problem}"


def _unfinished(solved: Any) -> str:
    """Return what is left to do for a notebook of model answers; '' for nothing."""
    if not was_run(solved):
        return "was not run"
    cell = refused(solved)
    return f"cell '{cell}' shows a card that finds the model answer wrong" if cell else ""


def _difference(path: Path, content: bytes) -> str:
    if path.suffix == ".ipynb":
        return difference(read_notebook(path), parse_notebook(content))
    same = path.is_file() and path.read_bytes() == content
    return "" if same else "missing or different"
