"""What a lesson and its exercises are called in the notebook: "Exercise 1: `softmax`"."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from autograder.model.course import Course

_HEADING = re.compile(r"# (#+) (.+)")
_ANSWER = re.compile(r"# %% (?:solution|written) ([\w-]+)")
_SMALL_PRINT = re.compile(r"\s*\((?:[\d.]+ points?|stretch)\)$|, not counted$")


@dataclass(frozen=True)
class Titles:
    """The title of a lesson, and those of its exercises by id."""

    lesson: str
    exercises: Mapping[str, str] = field(default_factory=dict)

    def exercise(self, exercise_id: str) -> str:
        """Return the title of an exercise, or its id in backticks if the lesson's text has none."""
        return self.exercises.get(exercise_id, f"`{exercise_id}`")


def titles(course: Course, lesson: str) -> Titles:
    """Return the titles in a lesson's text; without the text, ids stand for them."""
    path = course.text(lesson)
    try:
        return _read(path, path.stat().st_mtime_ns)
    except OSError:
        return Titles(lesson)


@lru_cache(maxsize=64)
def _read(path: Path, _changed: int) -> Titles:
    lesson, heading = "", ""
    exercises: dict[str, str] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if found := _HEADING.fullmatch(line):
            heading = _SMALL_PRINT.sub("", found[2])
            lesson = lesson or heading
        elif (answer := _ANSWER.match(line)) and heading:
            exercises[answer[1]] = heading
    return Titles(lesson or path.stem, exercises)
