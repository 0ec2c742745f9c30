"""The answers of a class as text and as tokens, and what every student had before writing any."""

import ast
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from functools import lru_cache
from html import unescape
from pathlib import Path
from typing import NamedTuple

from autograder.model.course import Course
from autograder.model.errors import AutograderError
from autograder.model.lesson_text import read_lesson
from autograder.submissions.answer_text import parse

LONGEST = 20_000  # characters of an answer that are read; nobody writes more by hand
MOST_TOKENS = 4_000  # of one answer; a long one takes a few hundred
RUN = {True: 24, False: 8}  # the length of a run, by whether it is code: two or three lines
Run = int  # the hash of some words that follow each other
_TAG = re.compile(r"<[^<>]*>")
_IGNORED = {"ctx", "annotation", "returns"}
_MARKUP = "*_`#.,;:!?()[]\"'"


@dataclass(frozen=True)
class Answer:
    """One student's answer to one exercise: code, or prose."""

    text: str
    is_code: bool


@dataclass(frozen=True)
class LessonAnswers:
    """The answers of one lesson by exercise and student.

    `known` holds, by exercise, what nobody has to copy from a neighbour: skeleton and model answer.
    """

    given: Mapping[str, Mapping[str, Answer]]
    known: Mapping[str, list[Answer]]


def read_answers(course: Course, lesson: str, students: Iterable[str]) -> LessonAnswers:
    """Return the graded answers of students; those without a graded notebook are left out."""
    given: dict[str, dict[str, Answer]] = {}
    for student in students:
        for exercise, answer in _answers(course.autograded_notebook(student, lesson)).items():
            given.setdefault(exercise, {})[student] = answer
    return LessonAnswers(given, _known(course, lesson))


def _answers(path: Path) -> Mapping[str, Answer]:
    """Return the answers in a notebook that we or nbgrader wrote; none if it cannot be read."""
    try:
        return _read(path, path.stat().st_mtime_ns)
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return {}


@lru_cache(maxsize=5_000)  # reports are made anew after each arrival, when nearly all is as before
def _read(path: Path, _changed: int) -> Mapping[str, Answer]:
    answers = {}
    for cell in json.loads(path.read_bytes())["cells"]:
        about = cell["metadata"].get("nbgrader", {})
        if about.get("solution"):
            source, is_code = cell["source"], cell["cell_type"] == "code"
            text = (source if isinstance(source, str) else "".join(source))[:LONGEST]
            if not is_code:  # a graded notebook holds prose as HTML, see `safe_html.inert`
                text = unescape(_TAG.sub(" ", unescape(text))).strip()
            answers[about["grade_id"]] = Answer(text, is_code)
    return answers


def _known(course: Course, lesson: str) -> dict[str, list[Answer]]:
    """Return skeletons and model answers by exercise, as far as the course folder has them."""
    try:
        known = {name: [answer] for name, answer in _answers(course.release_notebook(lesson)).items()}
        text = read_lesson(course.text(lesson))
        for name, answers in known.items():
            answers.append(Answer(text.answer(name), answers[0].is_code))
    except AutograderError:
        return {}
    return known


class Token(NamedTuple):
    """One word of a normalised answer, and the line of the answer that it comes from."""

    word: str
    line: int


def tokens(answer: Answer) -> list[Token]:
    """Return an answer's tokens; none for code that Python cannot parse.

    In code these are the nodes of the syntax tree, in order. A name that the answer itself defines
    counts as any name; names of libraries, attributes and numbers stay. Docstrings, annotations and
    comments are dropped. In prose these are the words, in lower case.
    """
    if not answer.is_code:
        numbered = enumerate(answer.text.lower().splitlines(), start=1)
        words = ((word.strip(_MARKUP), line) for line, text in numbered for word in text.split())
        return [Token(word, line) for word, line in words if word][:MOST_TOKENS]
    tree = parse(answer.text)
    if tree is None:
        return []
    nodes = _in_order(tree)[:MOST_TOKENS]
    own = {name for node in nodes if (name := bound(node))}
    found, line = [], 0
    for node in nodes:
        line = getattr(node, "lineno", line)
        found.append(Token(_word(node, own), line))
    return found


class Runs:
    """The runs of a normalised answer."""

    def __init__(self, answer: Answer) -> None:
        """Cut an answer's tokens into overlapping runs."""
        found = tokens(answer)
        self.words, self._length = [token.word for token in found], RUN[answer.is_code]
        starts = range(len(found) - self._length + 1)
        self._runs = [hash(tuple(self.words[at : at + self._length])) for at in starts]
        lines = (token.line for token in reversed(found[: len(self._runs)]))
        self.first_line = dict(zip(reversed(self._runs), lines, strict=True))

    def own_tokens(self, explained: Set[Run]) -> dict[Run, float]:
        """Return what each unexplained run is worth: its share of tokens that no explained run covers.

        A token lies in as many runs as a run has tokens (in fewer at the ends of an answer), so that all
        runs together count it once.
        """
        length, known = self._length, [run in explained for run in self._runs]
        own = bytearray(b"\x01" * len(self.words))
        for at, is_known in enumerate(known):
            if is_known:
                own[at : at + length] = bytes(length)
        return {
            run: worth / length
            for at, (run, is_known) in enumerate(zip(self._runs, known, strict=True))
            if not is_known and (worth := own.count(1, at, at + length))
        }


def _in_order(tree: ast.AST) -> list[ast.AST]:
    """Return the nodes of a tree in the order of the text, without what does nothing."""
    found, stack = [], [tree]
    while stack:
        node = stack.pop()
        if not is_unused_text(node):
            found.append(node)
            stack += reversed(list(_children(node)))
    return found


def _children(node: ast.AST) -> Iterator[ast.AST]:
    for name in node._fields:
        value = getattr(node, name, None)
        if isinstance(value, ast.AST) and name not in _IGNORED:
            yield value
        elif isinstance(value, list):
            yield from (each for each in value if isinstance(each, ast.AST))


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


def _word(node: ast.AST, own: set[str]) -> str:
    kind = type(node).__name__
    if isinstance(node, ast.Constant):
        return f"{kind} {literal(node.value)}"
    if isinstance(node, ast.keyword):
        return f"{kind} {node.arg}"
    name = node.id if isinstance(node, ast.Name) else getattr(node, "attr", None)
    return f"{kind} {name}" if name is not None and name not in own else kind
