"""Which state of a lesson, of an exercise and of the grader gave a score: digests of what can change it."""

import ast
import hashlib
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path

from autograder.authoring.rules import check_points
from autograder.model.course import Course, package_of
from autograder.model.errors import CourseError
from autograder.model.lesson_text import CellKind, LessonText, read_lesson
from autograder.storage.course_key import lesson_key

PACKAGE = Path(__file__).resolve().parent.parent
# The folders whose code can change a score. The others only build, store or show.
FOLDERS = ("model", "probe", "sandbox", "judge", "lessons", "submissions", "grading")
SUFFIXES = (".py", ".yaml", ".toml")
# The modules of this package that only decide what is graded and when, or tell more of a result.
ORGANISING = {"cluster.py", "lines.py", "loop.py", "pool.py", "regrade.py", "suggest.py", "version.py"}


def lesson_version(course: Course, lesson: str) -> str:
    """Return a digest of the lesson's text, its release, the key and the code that can change a score.

    The checks of other lessons cannot. A submission that was graded under another version is graded
    again. Raises CourseError if the lesson has no text or was never released, and LessonTextError if its
    points do not add up.
    """
    if not course.text(lesson).is_file():
        raise CourseError(f"no lesson '{lesson}': expected its text in {course.text(lesson)}")
    check_points(read_lesson(course.text(lesson)))
    parts = [course.text(lesson).read_bytes(), course.release_notebook(lesson).read_bytes()]
    return _digest([*parts, lesson_key(course, lesson), *_contents(scoring_files(PACKAGE, lesson))])


def scoring_files(package: Path, lesson: str = "") -> Iterator[Path]:
    """Yield the files that can change a score, in a fixed order: the grader's, and the coursework's.

    The cells of a lesson import the coursework, and answers use what they define. Of the lessons' checks,
    these are all, or those of one `lesson`.
    """
    lessons, own = package / "lessons", package / "lessons" / package_of(lesson)
    for folder in (*(package / name for name in FOLDERS), package.parent / "coursework"):
        for path in sorted(folder.rglob("*")):
            organises = path.parent.name == "grading" and path.name in ORGANISING
            other = lesson and path.parent.parent == lessons and path.parent != own
            if path.suffix in SUFFIXES and not organises and not other:
                yield path


@lru_cache(maxsize=16)
def exercise_versions(course: Course, lesson: str, _version: str) -> dict[str, str]:
    """Return a digest by exercise id; `_version` is the lesson's own, which changes with any of them.

    An exercise's checks, mistakes and cells count for it alone, and so do the checks that its module
    imports. The key, the grader's code, what the lesson's exercises share and its other code cells count
    for all of them. Prose does not count.
    """
    text = read_lesson(course.text(lesson))
    folder = PACKAGE / "lessons" / package_of(lesson)
    modules = {each.id: folder / f"{each.id.replace('-', '_')}.py" for each in text.exercises}
    own = set(modules.values())
    common = (path for path in scoring_files(PACKAGE, lesson) if path.with_suffix(".py") not in own)
    shared = _digest([lesson_key(course, lesson), *_cells(text, ""), *_contents(common)]).encode()
    return {
        name: _digest([shared, *_own_files(module, own), *_cells(text, name)])
        for name, module in modules.items()
    }


def _contents(paths: Iterable[Path]) -> Iterator[bytes]:
    """Yield the name and the content of each file."""
    for path in paths:
        yield path.relative_to(PACKAGE.parent).as_posix().encode()
        yield path.read_bytes()


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
    try:
        tree = ast.parse(path.read_bytes())
    except SyntaxError:  # grading names the line
        return set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            names |= {str(node.module).rpartition(".")[2], *(alias.name for alias in node.names)}
        elif isinstance(node, ast.Import):
            names |= {alias.name.rpartition(".")[2] for alias in node.names}
    return {path.with_name(f"{name}.py") for name in names}


def _cells(text: LessonText, exercise: str) -> Iterator[bytes]:
    """Yield the cells of an exercise; those of none are the code cells besides the exercises."""
    for cell in text.cells:
        if cell.exercise == exercise and cell.kind is not CellKind.PROSE:
            yield f"{cell.kind} {cell.points} {cell.text}".encode()


def _digest(parts: list[bytes]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(f"{len(part)} ".encode() + part)
    return digest.hexdigest()
