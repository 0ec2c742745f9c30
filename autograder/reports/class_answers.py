"""The answers of a class as text, and what every student had before writing any."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from html import unescape
from pathlib import Path
from typing import Any

from autograder.model.course import Course
from autograder.model.errors import AutograderError
from autograder.model.lesson_text import read_lesson

LONGEST = 20_000  # characters of an answer that are read; nobody writes more by hand
_TAG = re.compile(r"<[^<>]*>")


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
    cells = json.loads(path.read_bytes())["cells"]
    return {name: answer for cell in cells for name, answer in _answer(cell)}


def _answer(cell: dict[str, Any]) -> Iterable[tuple[str, Answer]]:
    """Yield the exercise and the answer of a cell, if students write in it."""
    about = cell["metadata"].get("nbgrader", {})
    if about.get("solution"):
        source, is_code = cell["source"], cell["cell_type"] == "code"
        text = (source if isinstance(source, str) else "".join(source))[:LONGEST]
        yield about["grade_id"], Answer(text if is_code else _plain(text), is_code)


def _plain(prose: str) -> str:
    """Return the words of prose that a graded notebook holds as HTML (see `safe_html.inert`)."""
    return unescape(_TAG.sub(" ", unescape(prose))).strip()


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
