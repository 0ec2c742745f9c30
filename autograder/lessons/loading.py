"""Puts a lesson together: the exercises that its text declares, with the checks in its package."""

import importlib
import pkgutil
import re
import traceback
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from types import ModuleType

from autograder.judge.judges import guarded, matches_reference
from autograder.judge.mistakes import load_mistakes
from autograder.judge.oracle import as_reference
from autograder.model.course import Course, package_of
from autograder.model.errors import CheckDefinitionError, CourseError, LessonTextError
from autograder.model.exercise import ANSWERS, Check, Excludes, Exercise, ExerciseChecks, Judge, Lesson
from autograder.model.lesson_text import ExerciseHeader, LessonText, read_lesson
from coursework import scope
from coursework.exclusions import DERIVATIVES, EXCLUSIONS

PACKAGE = "autograder.lessons"
CHECK_ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


def load_lesson(course: Course, name: str) -> Lesson:
    """Return a lesson such as '03_attention' with its checks, mistakes and model answers.

    It is read again only if its text has changed. Raises CourseError if there are no checks for it
    or no text, LessonTextError or CheckDefinitionError if the two do not fit together.
    """
    path = course.text(name)
    if not path.is_file():
        raise CourseError(f"no lesson '{name}': expected its text in {path}; is the name right?")
    return _load(read_lesson(path))


def with_checks(text: LessonText) -> Lesson:
    """Return the lesson of a text. Raises as `load_lesson` does."""
    package = _package(text.name)
    modules = _exercise_modules(package)
    _require_exercises(text, modules, package)
    reference = _submodule(package, "reference")
    earlier = {part: scope.stand_in(part) for part in scope.NEEDS.get(text.name, ())}
    exercises = tuple(_exercise(text, header, modules) for header in text.exercises)
    _require_distinct_names(exercises)
    return Lesson(
        name=text.name,
        path=text.path,
        exercises=exercises,
        given=earlier | getattr(reference, "GIVEN", {}),
        imports=getattr(reference, "IMPORTS", ()),
    )


_load = lru_cache(maxsize=16)(with_checks)


def _require_distinct_names(exercises: Sequence[Exercise]) -> None:
    """Raise CheckDefinitionError if two exercises define the same name: one would hide the other."""
    seen: dict[str, str] = {}
    for exercise in exercises:
        if exercise.name in seen and exercise.name != ANSWERS and exercise.module:
            raise CheckDefinitionError(
                f"{exercise.module.name}:1: '{exercise.id}' and '{seen[exercise.name]}' both define "
                f"`{exercise.name}`"
            )
        if exercise.name:
            seen[exercise.name] = exercise.id


def _package(lesson: str) -> ModuleType:
    name = package_of(lesson)
    try:
        return importlib.import_module(f"{PACKAGE}.{name}")
    except ModuleNotFoundError as problem:
        if problem.name != f"{PACKAGE}.{name}":
            raise
        raise CourseError(f"no checks for lesson '{lesson}': expected the package {PACKAGE}.{name}") from None


def _exercise_modules(package: ModuleType) -> dict[str, ModuleType]:
    names = [found.name for found in pkgutil.iter_modules(package.__path__)]
    modules = {name: _submodule(package, name) for name in names}
    return {
        name.replace("_", "-"): module
        for name, module in modules.items()
        if module is not None and hasattr(module, "exercise")
    }


def _submodule(package: ModuleType, name: str) -> ModuleType | None:
    """Return a module of a lesson's package, None if there is none; CheckDefinitionError if it breaks."""
    wanted = f"{package.__name__}.{name}"
    try:
        return importlib.import_module(wanted)
    except ModuleNotFoundError as problem:
        if problem.name != wanted:
            raise _broken(wanted, package, problem) from problem
        return None
    except Exception as problem:  # whatever an author's module does when it is imported
        raise _broken(wanted, package, problem) from problem


def _broken(wanted: str, package: ModuleType, problem: Exception) -> CheckDefinitionError:
    """Return the error for a module that cannot be imported, with the file and line it breaks at."""
    folder = Path(package.__path__[0])
    frames = [
        frame
        for frame in traceback.extract_tb(problem.__traceback__)
        if Path(frame.filename).parent == folder
    ]
    file = Path(frames[-1].filename if frames else getattr(problem, "filename", None) or wanted)
    line = frames[-1].lineno if frames else getattr(problem, "lineno", 1)
    return CheckDefinitionError(f"{file.name}:{line}: {type(problem).__name__}: {problem}")


def _require_exercises(text: LessonText, modules: dict[str, ModuleType], package: ModuleType) -> None:
    """Raise unless every code exercise of the text has checks, and the other way round."""
    coded = {header.id: header for header in text.exercises if not header.written}
    folder = Path(package.__path__[0])
    for name, header in coded.items():
        if name not in modules:
            wanted = folder / f"{name.replace('-', '_')}.py"
            problem = f"no checks: expected them in {wanted.parent.name}/{wanted.name}"
            raise LessonTextError(problem, text.path, cell=name, line=header.line)
    for name, module in modules.items():
        if name not in coded:
            raise CheckDefinitionError(
                f"{Path(module.__file__ or name).name}:1: {text.path.name} has no exercise '{name}' "
                f"(it has {', '.join(coded)})"
            )
    for path in folder.glob("*.yaml"):
        if path.stem.replace("_", "-") not in modules:
            raise CheckDefinitionError(f"{path.name}:1: there is no {path.stem}.py with checks")


def _exercise(text: LessonText, header: ExerciseHeader, modules: dict[str, ModuleType]) -> Exercise:
    name = header.id
    if header.written:
        return Exercise(name, header.points, written=True, line=header.line)
    declared: ExerciseChecks = modules[name].exercise
    module = Path(modules[name].__file__ or "")
    default = declared.judge or matches_reference()
    return Exercise(
        id=name,
        points=header.points,
        name=getattr(declared.reference, "__name__", ANSWERS),
        answer=text.answer(name),
        reference=as_reference(declared.reference),
        stand_in=declared.reference,
        excludes=_with_known_names(module, declared.excludes),
        checks=tuple(_judged(check, default) for check in _checked_table(module, declared.checks)),
        mistakes=load_mistakes(module.with_suffix(".yaml")),
        examples=tuple(declared.examples),
        line=header.line,
        module=module,
    )


def _with_known_names(module: Path, excludes: Excludes | None) -> Excludes | None:
    """Return what an answer is written without. Raises CheckDefinitionError for a name of no exclusion."""
    known = {*EXCLUSIONS, DERIVATIVES}
    if unknown := sorted({*excludes.names} - known if excludes else ()):
        raise CheckDefinitionError(
            f"{module.name}:1: unknown exclusion {', '.join(unknown)}: expected one or more of "
            f"{', '.join(sorted(known))}"
        )
    return excludes


def _judged(check: Check, default: Judge) -> Check:
    judge = check.judge or default
    return replace(check, judge=guarded(check.around(judge) if check.around else judge))


def _checked_table(module: Path, checks: Sequence[Check]) -> Sequence[Check]:
    """Return a table of checks. Raises CheckDefinitionError for one that cannot be graded with."""
    if not checks:
        raise CheckDefinitionError(f"{module.name}:1: there are no checks in the table")
    seen: set[str] = set()
    for check in checks:
        problem = _problem(check, seen)
        if problem:
            place = check_place(module, check.id, last=check.id in seen)
            raise CheckDefinitionError(f"{place}: {problem}")
        seen.add(check.id)
    return checks


def _problem(check: Check, seen: set[str]) -> str:
    """Return what is wrong with a check, given the ids before it; '' for nothing."""
    if check.id in seen:
        return f"there are two checks '{check.id}'"
    if not CHECK_ID.fullmatch(check.id):
        return f"'{check.id}' is not an id: expected lower-case words with hyphens"
    if not check.weight > 0:
        return f"check '{check.id}' should have a weight above 0, not {check.weight:g}"
    return ""


def check_place(module: Path, check_id: str, *, last: bool = False) -> str:
    """Return file and line of a check, as far as its id can be found in the module."""
    names = (f'"{check_id}"', f'"{check_id.replace("-", "_")}"')
    lines = enumerate(module.read_text(encoding="utf-8").splitlines(), start=1)
    found = [number for number, line in lines if any(name in line for name in names)] or [1]
    return f"{module.name}:{found[-1 if last else 0]}"
