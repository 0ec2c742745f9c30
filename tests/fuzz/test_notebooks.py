"""Whatever a file holds ends in the lesson's exercises or in one line; no answer gets lost on the way."""

import json
import random
from pathlib import Path
from typing import Any

import nbformat
import pytest
from conftest import ROOT, solve
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.lessons.loading import load_lesson
from autograder.model.course import Course
from autograder.model.errors import SubmissionError
from autograder.submissions.align import Aligned, Role, align
from autograder.submissions.answer_text import parses
from autograder.submissions.released import identify
from coursework.cells import defines

from .values import junk

FUZZ = settings.get_profile("fuzz")
LESSON = "05_encoder"  # it has written answers as well
COURSE = Course(ROOT)
EXERCISES = load_lesson(COURSE, LESSON).exercises
NAMES = {exercise.id: exercise.name for exercise in EXERCISES}
RIGHT = solve(COURSE, LESSON)
IDS = [cell.metadata.get("nbgrader", {}).get("grade_id") for cell in RIGHT.cells]
TEXTS = [cell.source for cell in RIGHT.cells]
SNIPPETS = ["def f(x):", "%%time", "!pip", "class", "    return", "'''", "answers = {}", "@", "1 +" * 999]

text = st.sampled_from(TEXTS + SNIPPETS) | st.text(st.characters(codec=None), max_size=30)
sources = text | st.lists(text | junk, max_size=4) | st.tuples(text, text).map("\n".join) | junk
about = st.fixed_dictionaries(
    {}, optional={"grade_id": st.sampled_from(IDS) | junk, "solution": junk, "grade": junk}
)
metadata = st.fixed_dictionaries(
    {}, optional={"nbgrader": about | junk, "tags": st.just(["demo"]) | junk, "id": junk}
)
cells = st.fixed_dictionaries(
    {},
    optional={
        "cell_type": st.sampled_from(["code", "markdown", "raw", "heading"]) | junk,
        "source": sources,
        "input": sources,
        "metadata": metadata | junk,
        "id": st.sampled_from([cell.id for cell in RIGHT.cells]) | junk,
        "outputs": junk,
    },
)
kernels = st.fixed_dictionaries(
    {}, optional={"kernelspec": junk | st.just({"language": "R"}), "language_info": junk}
)
notebooks = st.fixed_dictionaries(
    {},
    optional={
        "cells": st.lists(cells | junk, max_size=6) | junk,
        "worksheets": st.lists(st.fixed_dictionaries({"cells": st.lists(cells)}) | junk, max_size=2),
        "metadata": kernels | junk,
        "nbformat": st.integers(0, 9) | junk,
        "nbformat_minor": junk,
    },
)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Say where a made-up notebook goes."""
    return tmp_path_factory.mktemp("fuzz") / f"{LESSON}.ipynb"


def aligned(path: Path) -> Aligned | None:
    """Align a file; None where it is refused."""
    try:
        return align(COURSE, LESSON, path, NAMES)
    except SubmissionError:
        return None


def is_sound(found: Aligned) -> None:
    """Assert that every exercise is there once, and that everything can be written down."""
    answers = [part.exercise for part in found.parts if part.role in (Role.SOLUTION, Role.WRITTEN)]
    assert answers == [exercise.id for exercise in EXERCISES]
    assert len(found.parts) == len(found.notebook.cells)
    nbformat.validate(found.notebook)
    nbformat.writes(found.notebook).encode()
    assert all(part.source.encode() is not None for part in found.parts)
    assert all(isinstance(repair, str) and repair.encode() for repair in found.repairs)


@FUZZ
@given(notebooks, st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-32-be", "latin-1"]))
def test_a_made_up_notebook_is_aligned_or_refused(
    path: Path, notebook: dict[str, Any], encoding: str
) -> None:
    """Cells, metadata, sources and structure of any kind, in any encoding."""
    document = json.dumps(notebook, ensure_ascii=encoding == "latin-1")
    path.write_bytes(document.encode(encoding, errors="replace"))
    if found := aligned(path):
        is_sound(found)
    try:
        assert identify(COURSE, path) in COURSE.lessons()
    except SubmissionError:
        return


@FUZZ
@given(st.data())
def test_a_damaged_file_is_aligned_or_refused(path: Path, data: st.DataObject) -> None:
    """Bytes cut out of a solved notebook, and others put in."""
    whole = bytearray(nbformat.writes(RIGHT).encode())
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(whole)))
        length = data.draw(st.sampled_from([0, 1, 2, 100, 100_000]))
        whole[start : start + length] = data.draw(st.binary(max_size=8))
    path.write_bytes(whole)
    if found := aligned(path):
        is_sound(found)


def mangled(dice: random.Random) -> list[dict[str, Any]]:
    """Return the cells of the solved notebook after a rough journey; every answer is in there."""
    cells = [json.loads(json.dumps(cell)) for cell in RIGHT.cells]
    for cell in cells:
        if dice.random() < 0.2:
            cell["metadata"] = {}
        if dice.random() < 0.5:
            cell["id"] = f"new-{dice.random()}"
        if dice.random() < 0.1:
            cell["cell_type"] = dice.choice(["markdown", "raw", "code"])
    _swap_ids(cells, dice)
    cells = [cell for cell in cells if _has_answer(cell) or dice.random() < 0.8]
    for _ in range(dice.randrange(4)):
        cells.insert(dice.randrange(len(cells)), dict(dice.choice(cells)))
    for _ in range(dice.randrange(3)):
        _move(cells, dice)
    return cells


def _has_answer(cell: dict[str, Any]) -> bool:
    return any(defines(cell["source"], ex.name) for ex in EXERCISES)


def _swap_ids(cells: list[dict[str, Any]], dice: random.Random) -> None:
    if dice.random() < 0.3:
        one, other = dice.sample(cells, 2)
        one["metadata"], other["metadata"] = other["metadata"], one["metadata"]


def _move(cells: list[dict[str, Any]], dice: random.Random) -> None:
    cells.insert(dice.randrange(len(cells)), cells.pop(dice.randrange(len(cells))))


@FUZZ
@given(st.randoms(use_true_random=False))
def test_no_answer_gets_lost(path: Path, dice: random.Random) -> None:
    """As long as an answer's text is somewhere in the notebook, it is its exercise's answer."""
    notebook = {"cells": mangled(dice), "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    path.write_text(json.dumps(notebook))
    found = align(COURSE, LESSON, path, NAMES)
    is_sound(found)
    answers = {part.exercise: part for part in found.parts if part.role is Role.SOLUTION}
    for exercise in EXERCISES:
        if not exercise.written:
            part = answers[exercise.id]
            assert part.runs, exercise.id
            assert not part.unanswered, exercise.id
            assert defines(part.source, exercise.name), exercise.id
            assert parses(part.source), exercise.id
