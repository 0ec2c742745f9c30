"""A notebook that was rebuilt, with nothing left but the answers, is recognised, aligned and graded."""

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import REAL_COURSE, solve

from autograder.grading.grader import Grader
from autograder.lessons.loading import load_lesson
from autograder.model.errors import WrongFileError
from autograder.model.report import Outcome
from autograder.submissions.align import Role, align
from autograder.submissions.released import identify

LESSONS = REAL_COURSE.lessons()
WRITTEN = {
    "dense-layers": "The dense layers of different encoder layers have weights of their own.",
    "skip-connections": "Without skip connections the gradient has to go through every layer.",
}


def answers(lesson: str) -> dict[str, str]:
    """Return the model answers of a lesson's code exercises, by exercise."""
    cells = solve(REAL_COURSE, lesson).cells
    about = [(cell, cell.metadata.get("nbgrader", {})) for cell in cells]
    return {
        each["grade_id"]: cell.source
        for cell, each in about
        if each.get("solution") and cell.cell_type == "code"
    }


def rebuilt(path: Path, *cells: dict[str, Any]) -> Path:
    """Write a notebook of these cells and nothing else."""
    path.write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    return path


def code(source: str, **metadata: Any) -> dict[str, Any]:
    """Return a code cell."""
    return {"cell_type": "code", "source": source, "metadata": metadata, "outputs": []}


@pytest.mark.parametrize("lesson", LESSONS)
@pytest.mark.parametrize("way", ["a cell each", "one cell", "backwards", "foreign ids"])
def test_answers_alone_are_a_notebook_of_their_lesson(lesson: str, way: str, tmp_path: Path) -> None:
    """By the functions and classes that they define, multiple choice included."""
    texts = answers(lesson)
    cells = [code(text) for text in texts.values()]
    if way == "one cell":
        cells = [code("\n\n".join(texts.values()))]
    elif way == "backwards":
        cells.reverse()
    elif way == "foreign ids":
        cells = [
            code(text, nbgrader={"grade_id": f"cell-{n}", "solution": True})
            for n, text in enumerate(texts.values())
        ]
    path = rebuilt(tmp_path / "untitled.ipynb", *cells)
    assert identify(REAL_COURSE, path) == lesson
    names = load_lesson(REAL_COURSE, lesson).names
    found = align(REAL_COURSE, lesson, path, names)
    parts = {part.exercise: part for part in found.parts if part.role is Role.SOLUTION}
    assert not [name for name in texts if parts[name].missing or parts[name].unanswered]


def test_written_answers_are_recognised_by_what_they_are_about(tmp_path: Path) -> None:
    """In any order, among notes that are about something else."""
    notes = ["Shopping: milk, bread.", WRITTEN["skip-connections"], WRITTEN["dense-layers"]]
    cells = [code(text) for text in answers("05_encoder").values()]
    prose = [{"cell_type": "markdown", "source": text, "metadata": {}} for text in notes]
    path = rebuilt(tmp_path / "n.ipynb", *prose, *cells)
    found = align(REAL_COURSE, "05_encoder", path, load_lesson(REAL_COURSE, "05_encoder").names)
    parts = {part.exercise: part.source for part in found.parts if part.role is Role.WRITTEN}
    assert parts == WRITTEN


def test_a_rebuilt_notebook_gets_its_points(grader: Grader, tmp_path: Path) -> None:
    """All of them, and each recognition is listed."""
    cells = [code(text) for text in answers("03_attention").values()]
    path = rebuilt(tmp_path / "n.ipynb", *cells)
    report = grader.grade(identify(REAL_COURSE, path), path).report
    assert report.score == report.max_score == 20
    assert {done.outcome for done in report.exercises} == {Outcome.PASSED}
    assert len(report.repairs) == len(cells)


@pytest.mark.parametrize("lesson", [name for name in LESSONS if name != "03_attention"])
def test_another_lessons_answers_are_not_taken_for_this_ones(lesson: str, tmp_path: Path) -> None:
    """Even without any id to tell them apart."""
    path = rebuilt(tmp_path / "n.ipynb", *map(code, answers(lesson).values()))
    with pytest.raises(WrongFileError, match="none of its exercises"):
        align(REAL_COURSE, "03_attention", path, load_lesson(REAL_COURSE, "03_attention").names)
