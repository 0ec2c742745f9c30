"""No page, document or message that a student gets holds a fragment of a model answer."""

import ast
import re
from collections.abc import Callable, Iterator
from functools import cache
from html import unescape
from pathlib import Path

import nbformat
import pytest
from conftest import REAL_COURSE

from autograder.grading.grader import GradedSubmission, Grader
from autograder.lessons.loading import load_lesson
from autograder.model.exercise import Exercise, Mistake
from autograder.model.report import Outcome
from autograder.reports.student_pages import page_of_one

LONG = 16  # characters without blanks: what is shorter, such as `x.size(-1)`, is everyday code
NAMES = re.compile(r"[\w,.]+")  # the order of some results, which the exercise tells as well
SAMPLE = "03_attention"
EACH = 5  # of the known mistakes of an exercise
ROUNDS = {
    name: max(len(exercise.mistakes) for exercise in load_lesson(REAL_COURSE, name).exercises)
    for name in REAL_COURSE.lessons()
}
EVERY = [
    pytest.param(name, marks=pytest.mark.full("grades every fifth mistake of a lesson", seconds=rounds))
    for name, rounds in ROUNDS.items()
]
HandIn = Callable[..., Path]

pytestmark = pytest.mark.sandbox


def bare(text: str) -> str:
    """Return a text without blanks and with one kind of quotes, so that layout makes no difference."""
    return re.sub(r"\s", "", text).replace('"', "'")


@cache
def long_parts(source: str) -> frozenset[str]:
    """Return what of a cell is long enough to tell something."""
    found = {bare(part) for part in parts(source)}
    return frozenset(part for part in found if len(part) >= LONG and not NAMES.fullmatch(part))


def parts(source: str) -> Iterator[str]:
    """Yield the lines of a cell, and the expressions in it as they are written and as Python writes them."""
    yield from source.split("\n")
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.expr, ast.stmt)) and not isinstance(node, (ast.Constant, ast.JoinedStr)):
            yield ast.get_source_segment(source, node) or ""
            yield ast.unparse(node)


@cache
def given(lesson: str) -> str:
    """Return all that a lesson's released notebook says."""
    notebook = nbformat.read(REAL_COURSE.release_notebook(lesson), as_version=4)
    return bare("\n".join(cell.source for cell in notebook.cells))


def fragments(lesson: str, exercise: Exercise, handed_in: str) -> set[str]:
    """Return the parts of a model answer that the student has neither written nor read."""
    mine = bare(handed_in + ast.unparse(ast.parse(handed_in)))
    return {part for part in long_parts(exercise.answer) if part not in mine and part not in given(lesson)}


def shown(graded: GradedSubmission) -> str:
    """Return what a student can read: the page, without its marks, and the document."""
    page = page_of_one(REAL_COURSE, graded.report, graded.notebook, sandboxed=True)
    text = unescape(re.sub(r"<[^<>]*>", "", page))
    return bare(text + graded.report.model_dump_json().replace('\\"', '"').replace("\\n", "\n"))


def given_away(grader: Grader, hand_in: HandIn, lesson: str, number: int, *, lines: bool) -> list[str]:
    """Return what a student reads of model answers who makes one known mistake in each exercise."""
    made: dict[Exercise, Mistake] = {
        exercise: exercise.mistakes[number]
        for exercise in load_lesson(REAL_COURSE, lesson).exercises
        if number < len(exercise.mistakes)
    }
    answers = {exercise.id: mistake.apply(exercise.answer) for exercise, mistake in made.items()}
    edits = {name.replace("-", "_"): text for name, text in answers.items()}
    graded = grader.grade(lesson, hand_in(lesson, **edits), lines=lines)
    assert any(done.outcome is not Outcome.PASSED for done in graded.report.exercises)
    text = shown(graded)
    right = bare("\n".join(cell.source for cell in graded.notebook.cells))  # what this student has right
    return [
        f"{exercise.id}, {mistake.id}: {part}"
        for exercise, mistake in made.items()
        for part in fragments(lesson, exercise, answers[exercise.id])
        if part in text and part not in right
    ]


def test_nothing_of_an_answer_is_given_away_with_the_lines(grader: Grader, hand_in: HandIn) -> None:
    """The search has put parts of model answers into this student's code, and found the line in some."""
    assert given_away(grader, hand_in, SAMPLE, 1, lines=True) == []


@pytest.mark.parametrize("lesson", ROUNDS)
def test_no_title_or_hint_quotes_the_answer(lesson: str) -> None:
    """Of any known mistake, and of any check: a hint says where to look, and not what to write."""
    quoted = []
    for exercise in load_lesson(REAL_COURSE, lesson).exercises:
        checks = " ".join(check.title for check in exercise.checks)
        for mistake in exercise.mistakes:
            text = bare(f"{mistake.title} {mistake.hint} {checks}")
            left = fragments(lesson, exercise, mistake.apply(exercise.answer))
            quoted += [f"{exercise.id}, {mistake.id}: {part}" for part in left if part in text]
    assert quoted == []


@pytest.mark.parametrize("lesson", EVERY)
def test_nothing_of_an_answer_is_given_away_by_mistakes(lesson: str, grader: Grader, hand_in: HandIn) -> None:
    """Of every exercise, in a sample of what is made wrong: in messages, titles, hints, examples and code."""
    for number in range(3, ROUNDS[lesson], EACH):
        assert given_away(grader, hand_in, lesson, number, lines=False) == []


def test_a_fragment_would_be_noticed(grader: Grader, hand_in: HandIn) -> None:
    """A title that quotes the model answer is found, however it is laid out."""
    exercise = load_lesson(REAL_COURSE, SAMPLE)["attention-scores"]
    wrong = "def attention_scores(q, k):\n    return q @ k.transpose(1, 2)\n"
    graded = grader.grade(SAMPLE, hand_in(SAMPLE, attention_scores=wrong))
    told = graded.report.exercise(exercise.id)
    check = told.failures[0].model_copy(update={"message": "Write q @ k.transpose( -2,-1) / math.sqrt(k.size(-1))."})
    changed = told.model_copy(update={"checks": [check]})
    others = [changed if each.id == exercise.id else each for each in graded.report.exercises]
    report = graded.report.with_exercises(others)
    text = bare(page_of_one(REAL_COURSE, report, graded.notebook, sandboxed=True))
    assert any(part in text for part in fragments(SAMPLE, exercise, wrong))
