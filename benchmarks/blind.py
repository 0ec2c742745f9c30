"""Grades the answers in `blind/`, which were written without sight of the known mistakes and of the search.

    python benchmarks/blind.py [NN ...] [FOLDER]

A file holds the answers to one lesson. An answer is a whole cell, and `lines` are the lines of it that its
author made wrong, counted from 1. What is missing belongs behind the line `after` (a number, or a list of
them). An answer with neither is right, in a form that few would choose.

Each wrong answer fails. With `places: 2`, two things are wrong, mostly each of them on its own; the marked
lines of all others belong to one thing.

Another folder may hold further answers, in files of the same names. `blind/held_out` has some that nothing was
tuned by: measure with them, and don't read them.

The columns: `not failing`, wrong answers that pass every check; `by a title`, those that a known mistake
explains; `named`, these and those whose form is named or about which an explainer says what is wrong;
`raising`, those with an exception in some check, whose line the student is told, named or not.
"""

import logging
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import yaml

from autograder.judge.diagnose import diagnose
from autograder.judge.oracle import Evidence, Oracle, judge_check
from autograder.lessons.loading import load_lesson
from autograder.model.course import Course
from autograder.model.exercise import Edit, Exercise, Mistake
from coursework.engine.describe import Comparison, describe

HERE = Path(__file__).parent
COURSE = Course(HERE.parent)
KEY = b"the key of the blind answers"
COLUMNS = ("wrong", "not failing", "by a title", "named", "raising", "right", "right but failing")
NUMBERS = re.compile(r"\d+")


@dataclass(frozen=True)
class Answer:
    """One answer, the places where its author made it wrong, and a few words on what is wrong."""

    exercise: str
    code: str
    lines: tuple[int, ...]
    after: tuple[int, ...]
    note: str

    @property
    def wrong(self) -> bool:
        """Whether its author made it wrong."""
        return bool(self.lines or self.after)


@dataclass(frozen=True)
class Grading:
    """What the grader makes of an answer: the failed checks, the titles from the catalogue, and more."""

    failed: tuple[str, ...]
    titles: tuple[str, ...]
    named: bool
    raising: bool


def read_answers(path: Path) -> list[Answer]:
    """Return the answers of a file, in its order."""
    return [_answer(entry) for entry in yaml.safe_load(path.read_text(encoding="utf-8"))]


def _answer(entry: dict[str, Any]) -> Answer:
    after = entry.get("after", ())
    after = (after,) if isinstance(after, int) else tuple(after)
    return Answer(entry["exercise"], entry["code"], tuple(entry["lines"]), after, entry["note"])


def grade(oracle: Oracle, exercise: Exercise, code: str) -> Grading:
    """Grade a cell in this process, with right parts in place of the student's earlier ones."""
    mistake = Mistake("handed-in", "handed in", "", (Edit(exercise.answer, code),))
    seen = [oracle.try_edited(exercise, check, [mistake]) for check in exercise.checks]
    failures = [item for item in seen if not item.passed]
    found = [mistake.id for mistake in diagnose(oracle, exercise, seen)]
    known = {each.id for each in exercise.mistakes}
    return Grading(
        failed=tuple(item.check.id for item in failures),
        titles=tuple(name for name in found if name in known),
        named=bool(found) or any(_explained(exercise, item, code) for item in failures),
        raising=any(item.got.raised and not item.expected.raised for item in failures),
    )


def _explained(exercise: Exercise, item: Evidence, code: str) -> bool:
    """Return whether a message says more than which numbers differ, or which exception came."""
    seen = Comparison(item.test_input.operation, item.got, item.expected, exercise.name, code)
    if item.got.raised or item.expected.raised:
        return False
    said = NUMBERS.sub("", judge_check(exercise, item.check, seen).message)
    return said not in {NUMBERS.sub("", describe(seen, any_form=form)) for form in (False, True)}


def graded(path: Path) -> Iterator[tuple[Answer, Grading]]:
    """Grade the answers of a file."""
    lesson = load_lesson(COURSE, path.stem)
    oracle = Oracle(lesson, KEY)
    for answer in read_answers(path):
        yield answer, grade(oracle, lesson[answer.exercise], answer.code)


def count(path: Path) -> Counter[str]:
    """Count what the grader makes of a file's answers, and print those that it takes for the opposite."""
    found = Counter[str]()
    for answer, grading in graded(path):
        if answer.wrong:
            found.update({"wrong": 1, "not failing": not grading.failed})
            found.update({"by a title": bool(grading.titles), "named": grading.named})
            found["raising"] += grading.raising
        else:
            found.update({"right": 1, "right but failing": bool(grading.failed)})
        if answer.wrong != bool(grading.failed):
            print(f"  {path.stem} {answer.exercise}: {answer.note}: failed {grading.failed or 'nothing'}")
    return found


def main(arguments: list[str]) -> None:
    """Print a line for each lesson, and the sum."""
    torch.set_num_threads(1)
    logging.disable(logging.WARNING)
    total = Counter[str]()
    print(f"{'':28}" + "".join(f"{name:>19}" for name in COLUMNS) + f"{'seconds':>10}")
    numbers = [part for part in arguments if part.isdigit()]
    folder = next((Path(part) for part in arguments if part not in numbers), HERE / "blind")
    for path in sorted(folder.glob("*.yaml")):
        if numbers and path.stem[:2] not in numbers:
            continue
        started = time.monotonic()
        found = count(path)
        total.update(found)
        _row(path.stem, found, time.monotonic() - started)
    _row("together", total, 0)


def _row(name: str, found: Counter[str], seconds: float) -> None:
    print(f"{name:28}" + "".join(f"{found[column]:19}" for column in COLUMNS) + f"{seconds:10.0f}")


if __name__ == "__main__":
    main(sys.argv[1:])
