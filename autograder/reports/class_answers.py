"""The answers of a class, read from the graded notebooks."""

import ast
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from html import unescape
from pathlib import Path

from autograder.judge.mistakes import load_mistakes
from autograder.model.course import Course, package_of
from autograder.model.errors import AutograderError
from autograder.model.lesson_text import read_lesson

LONGEST = 20_000  # characters of an answer that are read; nobody writes more by hand
CHECKS = Path(__file__).resolve().parents[1] / "lessons"  # checks and known mistakes, a folder each lesson
_TAG = re.compile(r"<[^<>]*>")


@dataclass(frozen=True)
class StudentAnswer:
    """One student's answer to one exercise: code, or prose."""

    text: str
    is_code: bool


@dataclass(frozen=True)
class LessonAnswers:
    """The answers of one lesson by exercise and student.

    `known` holds, by exercise, what nobody has to copy from a neighbour: skeleton and model answer.
    """

    given: Mapping[str, Mapping[str, StudentAnswer]]
    known: Mapping[str, list[StudentAnswer]]


def read_answers(course: Course, lesson: str, students: Iterable[str]) -> LessonAnswers:
    """Return the graded answers of students; those without a graded notebook are left out."""
    given: dict[str, dict[str, StudentAnswer]] = {}
    for student in students:
        for exercise, answer in _answers(course.autograded_notebook(student, lesson)).items():
            given.setdefault(exercise, {})[student] = answer
    return LessonAnswers(given, _known(course, lesson))


def _answers(path: Path) -> Mapping[str, StudentAnswer]:
    """Return the answers in a notebook that we or nbgrader wrote; none if it cannot be read."""
    try:
        return _read(path, path.stat().st_mtime_ns)
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return {}


@lru_cache(maxsize=5_000)  # reports are made anew after each arrival, when nearly all is as before
def _read(path: Path, _changed: int) -> Mapping[str, StudentAnswer]:
    answers = {}
    for cell in json.loads(path.read_bytes())["cells"]:
        about = cell["metadata"].get("nbgrader", {})
        if about.get("solution"):
            source, is_code = cell["source"], cell["cell_type"] == "code"
            text = (source if isinstance(source, str) else "".join(source))[:LONGEST]
            if not is_code:  # a graded notebook holds prose as HTML, see `safe_html.inert`
                text = unescape(_TAG.sub(" ", unescape(text))).strip()
            answers[about["grade_id"]] = StudentAnswer(text, is_code)
    return answers


def _known(course: Course, lesson: str) -> dict[str, list[StudentAnswer]]:
    """Return skeletons and model answers by exercise, as far as the course folder has them."""
    try:
        known = {name: [answer] for name, answer in _answers(course.release_notebook(lesson)).items()}
        text = read_lesson(course.text(lesson))
        for name, answers in known.items():
            answers.append(StudentAnswer(text.answer(name), answers[0].is_code))
    except AutograderError:
        return {}
    return known


def is_unused_text(node: ast.AST) -> bool:
    """Return whether a node is a docstring, or another text that nothing reads."""
    value = node.value if isinstance(node, ast.Expr) else None
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


def bound(node: ast.AST) -> str | None:
    """Return the name that a node defines, if it does; what is imported keeps its library's name."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
        return node.name
    if isinstance(node, ast.arg):
        return node.arg
    if isinstance(getattr(node, "ctx", None), ast.Store):
        return node.id if isinstance(node, ast.Name) else getattr(node, "attr", None)
    return None


def literal(value: object) -> str:
    """Return a constant as code, cut; Python refuses to write the longest numbers in decimal."""
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return (f"{value:#x}" if is_number and abs(value) > 10**18 else repr(value))[:60]  # type: ignore[arg-type]


def with_mistake(course: Course, lesson: str, exercise: str, mistake: str) -> str:
    """Return the model answer with a known mistake in it; "" where the catalogue has no such mistake.

    It is also empty where the course's own model answer has no place for the mistake's edit.
    """
    known = CHECKS / package_of(lesson) / f"{exercise.replace('-', '_')}.yaml"
    try:
        [found] = (each for each in load_mistakes(known) if each.id == mistake)
        return found.apply(read_lesson(course.text(lesson)).answer(exercise))
    except (AutograderError, ValueError):
        return ""
