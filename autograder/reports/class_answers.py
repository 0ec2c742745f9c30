"""The answers of a class, read from the graded notebooks, and short specimens of them without an author.

A specimen is written again from its syntax tree, so that comments and layout are gone. Docstrings, and
names and values that fewer than three students use, are replaced.
"""

import ast
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from html import unescape
from pathlib import Path

from autograder.model.course import Course
from autograder.model.errors import AutograderError
from autograder.model.lesson_text import read_lesson
from autograder.model.text import visible
from autograder.reports.class_figures import MistakeCount
from autograder.submissions.answer_text import parse

LONGEST = 20_000  # characters of an answer that are read; nobody writes more by hand
COMMON = 3  # students who use a word before it can be shown
MOST_LINES, MOST_CODE = 40, 2_000  # of a specimen
LONGEST_SPECIMEN = 8_000  # characters of an answer that can become one
LARGEST, MOST_DIGITS = (100_000, 5)  # of numbers: 512, 0.001 and 1e+09 say nothing about who wrote them
CUT = "# (the rest is not shown)"
MASKED = "…"
_TAG = re.compile(r"<[^<>]*>")
_PARTS = re.compile(r"[a-z]+|[A-Z][a-z]*|\d+")


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


class Specimens:
    """The specimens of one lesson."""

    def __init__(self, answers: LessonAnswers, students: Iterable[str]) -> None:
        self._answers = answers
        self._names = {part for student in students for part in _parts(student)}
        self._common: dict[str, frozenset[str]] = {}

    def of(self, mistake: MistakeCount) -> str:
        """Return the shortest answer with a mistake; empty if none can be shown."""
        given = self._answers.given.get(mistake.exercise, {})
        found = [given[each] for each in mistake.students if each in given]
        shown = (self._anonymous(mistake.exercise, answer) for answer in found)
        return min(filter(None, shown), key=lambda code: (len(code), code), default="")

    def _anonymous(self, exercise: str, answer: StudentAnswer) -> str:
        """Return an answer without what identifies its author; empty if that cannot be done."""
        tree = parse(answer.text) if answer.is_code and len(answer.text) <= LONGEST_SPECIMEN else None
        if tree is None:
            return ""
        shown = self._shown(exercise)
        try:
            code = ast.unparse(_Mask(shown).visit(tree))
        except (RecursionError, ValueError):
            return ""
        secret = self._names - {part for word in shown for part in _parts(word)}
        if secret & set(_parts(code)):
            return ""
        code = visible(code)
        lines = code[:MOST_CODE].split("\n")
        whole = len(code) <= MOST_CODE and len(lines) <= MOST_LINES
        return code if whole else "\n".join([*lines[: MOST_LINES - 1], CUT])

    def _shown(self, exercise: str) -> frozenset[str]:
        """Return the words of an exercise that identify nobody: given, or used by several students."""
        if exercise not in self._common:
            given = self._answers.given.get(exercise, {}).values()
            counts = Counter(word for each in given for word in _words(each))
            known = {word for each in self._answers.known.get(exercise, []) for word in _words(each)}
            common = {word for word, count in counts.items() if count >= COMMON}
            self._common[exercise] = frozenset(known | common)
        return self._common[exercise]


def _parts(name: str) -> Iterator[str]:
    """Yield the words of a name: "lastName_2" has "last", "name" and "2"; short ones say nothing."""
    return (part.lower() for part in _PARTS.findall(name) if len(part) > 2)


@lru_cache(maxsize=20_000)  # reports are made anew after each arrival, when nearly all is as before
def _words(answer: StudentAnswer) -> frozenset[str]:
    tree = parse(answer.text[:LONGEST_SPECIMEN]) if answer.is_code else None
    nodes = list(ast.walk(tree)) if tree else []
    values = {literal(node.value) for node in nodes if isinstance(node, ast.Constant)}
    fields = (value for node in nodes for _, value in ast.iter_fields(node))
    return frozenset(values | {value for value in fields if isinstance(value, str)})


class _Mask(ast.NodeTransformer):
    """Renames what a student named alone, and replaces what a student wrote alone."""

    def __init__(self, shown: frozenset[str]) -> None:
        self._shown = shown
        self._new: Mapping[str, str] = {}

    def visit(self, node: ast.AST) -> ast.AST:
        """Mask one node; a tree's own names are collected first."""
        if isinstance(node, ast.Module):
            names = (each.asname if isinstance(each, ast.alias) else bound(each) for each in ast.walk(node))
            own = dict.fromkeys(filter(None, names))  # the names of libraries stay as they are
            hidden = [
                name for name in own if name not in self._shown and not (len(name) == 1 and name.isascii())
            ]
            self._new = {name: f"name_{number}" for number, name in enumerate(hidden, start=1)}
        for field, value in ast.iter_fields(node):
            if isinstance(value, str) and value in self._new and not isinstance(node, ast.Constant):
                setattr(node, field, self._new[value])
        return super().visit(node)  # type: ignore[no-any-return] # typeshed: it may drop nodes

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        """Drop docstrings and other texts that nothing reads."""
        return None if is_unused_text(node) else self.generic_visit(node)

    def generic_visit(self, node: ast.AST) -> ast.AST:
        """Mask values, and visit what is below."""
        if isinstance(node, ast.Constant) and not self._is_plain(node.value):
            return ast.copy_location(ast.Constant(MASKED), node)
        seen = super().generic_visit(node)
        if getattr(seen, "body", None) == []:
            seen.body = [ast.Pass()]  # type: ignore[attr-defined] # only its docstring was there
        return seen

    def _is_plain(self, value: object) -> bool:
        """Return whether a value can be shown: given, common, or a number of a few digits."""
        if isinstance(value, str | bytes):
            return literal(value) in self._shown or not value.strip()
        if isinstance(value, int):
            return abs(value) < LARGEST
        return not isinstance(value, float) or len(f"{value:g}") <= MOST_DIGITS
