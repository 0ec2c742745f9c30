"""Which state of an exercise gave its score: a digest of what grades it, for each exercise of a lesson."""

import ast
import hashlib
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from autograder.grading import version
from autograder.model.course import Course
from autograder.model.lesson_text import CellKind, LessonCell, LessonText, read_lesson
from autograder.storage.course_key import lesson_key


@lru_cache(maxsize=16)
def exercise_versions(course: Course, lesson: str, _version: str) -> dict[str, str]:
    """Return a digest by exercise id; `_version` is the lesson's own, which changes with any of them.

    An exercise's checks, mistakes and cells count for it alone, and so do the checks that its module
    imports. The key, the grader's code, what the lesson's exercises share and its other code cells count
    for all of them. Prose does not count.
    """
    text = read_lesson(course.text(lesson))
    folder = version.PACKAGE / "lessons" / lesson.partition("_")[2]
    modules = {each.id: folder / f"{each.id.replace('-', '_')}.py" for each in text.exercises}
    shared = _shared(course, text, set(modules.values()))
    return {
        name: _digest([shared, *_own_files(module, set(modules.values())), *_cells(text, name)])
        for name, module in modules.items()
    }


def _shared(course: Course, text: LessonText, modules: set[Path]) -> bytes:
    """Return what counts for all exercises of a lesson."""
    parts = [lesson_key(course, text.name), *_cells(text, "")]
    for path in version.scoring_files(version.PACKAGE, text.name):
        if path.with_suffix(".py") not in modules:
            parts += [path.relative_to(version.PACKAGE.parent).as_posix().encode()]
            parts += [path.read_bytes()]
    return _digest(parts).encode()


def _own_files(module: Path, modules: set[Path]) -> Iterator[bytes]:
    """Yield an exercise's checks and mistakes, and the checks of other exercises that it imports."""
    todo, seen = [module], set[Path]()
    while todo:
        path = todo.pop()
        if path in seen or not path.is_file():
            continue
        seen.add(path)
        yield path.read_bytes()
        todo += sorted(_imported(path) & modules)
    mistakes = module.with_suffix(".yaml")
    yield mistakes.read_bytes() if mistakes.is_file() else b""


def _imported(path: Path) -> set[Path]:
    """Return the modules of its own folder that a module imports, by whatever form of import."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.ImportFrom):
            names |= {str(node.module).rpartition(".")[2], *(alias.name for alias in node.names)}
        elif isinstance(node, ast.Import):
            names |= {alias.name.rpartition(".")[2] for alias in node.names}
    return {path.with_name(f"{name}.py") for name in names}


def _cells(text: LessonText, exercise: str) -> Iterator[bytes]:
    """Yield the cells of an exercise; those of none are the code cells besides the exercises."""
    for cell in text.cells:
        if cell.exercise == exercise and cell.kind is not CellKind.PROSE:
            yield _described(cell)


def _described(cell: LessonCell) -> bytes:
    return f"{cell.kind} {cell.points} {cell.text}".encode()


def _digest(parts: list[bytes]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(f"{len(part)} ".encode() + part)
    return digest.hexdigest()
