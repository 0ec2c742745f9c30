"""The build: parse, check the rules, notebook, release, check the release, model answers."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import nbformat

from autograder.authoring import notebook
from autograder.authoring.examples import FOLDER, examples_current, examples_files, examples_place
from autograder.authoring.execute import run
from autograder.authoring.minutes import sittings
from autograder.authoring.release import check_release, generate_assignment
from autograder.authoring.rules import IMAGES, check_ids_of_course, check_images, check_rules, images_of
from autograder.authoring.validate import validate
from autograder.lessons.loading import with_checks
from autograder.model.course import Course
from autograder.model.errors import CourseError
from autograder.model.exercise import Lesson
from autograder.model.files import files_in, write
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
    of a lesson nothing is written unless all of it could be made. A lesson is run again only if one
    of its code cells changed, and never without `execute`: new prose keeps the outputs. Raises
    LessonTextError for a text that breaks a rule, CourseError for files in a lesson's folder that the
    build did not make.
    """
    written: list[Path] = []

    def write_new(files: dict[Path, bytes]) -> None:
        written.extend(course.root / at for at, content in files.items() if write(course.root / at, content))

    for name in _names(course, lessons):
        built = assemble(course, name)
        stale = _leftovers(course, built)
        if not examples_current(course.root, built.checks):
            write_new(examples_files(built.checks))
        write_new(built.files | _solved(course, built, execute=execute))
        for path in stale:
            path.unlink()
            if not any(path.parent.iterdir()):
                path.parent.rmdir()
    return written


def check(course: Course, lessons: Sequence[str] | None = None) -> None:
    """Raise CourseError listing what differs from what the texts make now; writes nothing.

    What counts are the cells of notebooks (sources and metadata), the pictures' bytes, and that
    every model answer was run. A text that cannot be built raises as `build` does.
    """
    stale = [line for name in _names(course, lessons) for line in _stale(course, name)]
    if stale:
        listed = "".join(f"\n  {line}" for line in stale)
        raise CourseError(f"out of date, run 'autograder build':{listed}")


def assemble(course: Course, name: str) -> Built:
    """Make everything of one lesson except the outputs of its model answers; write nothing."""
    lesson = read_lesson(course.text(name))
    check_rules(lesson)
    check_ids_of_course(lesson, [read_lesson(course.text(each)) for each in course.lessons() if each != name])
    checks = with_checks(lesson)
    validate(checks)
    check_images(lesson, course.images)
    with TemporaryDirectory() as folder:
        stage = Course(Path(folder).resolve())
        write(stage.source_notebook(name), notebook.as_text(notebook.instructor_notebook(lesson)).encode())
        for image in images_of(lesson):
            picture = (course.images / image).read_bytes()
            write(stage.source / name / IMAGES / image, picture)
            write(stage.solutions / IMAGES / image, picture)
        check_release(lesson, notebook.read_notebook(generate_assignment(stage.root, name) / f"{name}.ipynb"))
        files = {path.relative_to(stage.root): path.read_bytes() for path in files_in(stage.root)}
    return Built(lesson, checks, files, notebook.solution_notebook(lesson))


def unshown(course: Course, written: Sequence[Path]) -> Iterator[str]:
    """Yield a line for each exercise with known mistakes that show on none of its public examples.

    Only the examples among the files `written` count. Pairs of mistakes are left out.
    """
    for path in written:
        if path.suffix != ".json" or path.parent != course.root / FOLDER:
            continue
        for exercise in json.loads(path.read_text(encoding="utf-8"))["exercises"]:
            rows = (texts for texts, either, _ in exercise["mistakes"] if either or len(texts) == 1)
            shown = {number for texts in rows for number in texts}
            missing = [title for number, (title, _) in enumerate(exercise["texts"]) if number not in shown]
            if missing:
                total = len(exercise["texts"])
                share = f"{total - len(missing)} of {total} known mistakes show on an example"
                yield f"{exercise['exercise']}: {share}; these do not: {'; '.join(missing)}"


def times(course: Course, written: Sequence[Path]) -> Iterator[str]:
    """Yield a line for each sitting of the lessons among the files `written`: how long it takes, and why."""
    for name in course.lessons():
        if course.source_notebook(name) in written:
            for sitting in sittings(read_lesson(course.text(name))):
                yield f"{name}: {sitting}"


def _names(course: Course, lessons: Sequence[str] | None) -> list[str]:
    names = course.lessons() if lessons is None else list(lessons)
    if not names:
        raise CourseError(f"no lessons: expected texts such as {course.text('03_attention')}")
    return names


def _solved(course: Course, built: Built, *, execute: bool) -> dict[Path, bytes]:
    """Return the file with a lesson's model answers; nothing if the one on disk is current."""
    path = course.solved_notebook(built.lesson.name)
    old = notebook.read_notebook(path)
    if not notebook.difference(old, built.solution) and (not execute or not _unfinished(old)):
        return {}
    solution = built.solution
    if notebook.same_code(old, solution) and not _unfinished(old):
        notebook.with_outputs_of(old, solution)
    elif execute:
        solution = run(solution, built.lesson, course.root)
    return {path.relative_to(course.root): notebook.as_text(solution).encode()}


def _leftovers(course: Course, built: Built) -> list[Path]:
    """Return pictures that no lesson shows any more; CourseError for any other file in a lesson's folders."""
    name = built.lesson.name
    found = [path for folder in (course.source, course.release) for path in files_in(folder / name)]
    extra = [path for path in found if path.relative_to(course.root) not in built.files]
    strays = [path for path in extra if path.parent.name != IMAGES]
    if strays:
        problem = f"'{strays[0].relative_to(course.root)}' was not made by the build"
        raise CourseError(f"{problem}: nbgrader hands out all that lies there, so move it away")
    texts = [course.text(name).read_text(encoding="utf-8") for name in course.lessons()]
    pictures = files_in(course.solutions / IMAGES)
    return extra + [p for p in pictures if not any(f"{IMAGES}/{p.name}" in text for text in texts)]


def _stale(course: Course, name: str) -> Iterator[str]:
    built = assemble(course, name)
    for at, content in built.files.items():
        path = course.root / at
        if path.suffix == ".ipynb":
            new = nbformat.reads(content.decode(), as_version=4)
            problem = notebook.difference(notebook.read_notebook(path), new)
        else:
            same = path.is_file() and path.read_bytes() == content
            problem = "" if same else "missing or different"
        if problem:
            yield f"{at}: {problem}"
    for path in _leftovers(course, built):
        yield f"{path.relative_to(course.root)}: left over"
    if not examples_current(course.root, built.checks):
        yield f"{examples_place(built.checks)}: missing or different"
    path = course.solved_notebook(name)
    old = notebook.read_notebook(path)
    problem = notebook.difference(old, built.solution) or _unfinished(old)
    if problem:
        yield f"{path.relative_to(course.root)}: {problem}"


def _unfinished(solved: Any) -> str:
    if not notebook.was_run(solved):
        return "was not run"
    cell = notebook.refused(solved)
    return f"cell '{cell}' shows a card that finds the model answer wrong" if cell else ""
