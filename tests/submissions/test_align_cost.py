"""Aligning costs bounded time, whatever the cells hold and however many copies there are."""

import json
import time
from pathlib import Path

import pytest
from conftest import REAL_COURSE, solve

from autograder.lessons.loading import load_lesson
from autograder.submissions.align import align, needed_cells

LESSON = "03_attention"
SECONDS = 15  # of processor time, on a slow machine; an ordinary notebook takes a tenth of one
ANSWER = next(
    cell.source
    for cell in solve(REAL_COURSE, LESSON).cells
    if cell.metadata.get("nbgrader", {}).get("grade_id") == "softmax"
)
LONG = ANSWER + "\ndef g(x):\n" + "\n".join(f"    y{n} = x + {n} * (x - {n})" for n in range(3000))
NAMES = load_lesson(REAL_COURSE, LESSON).names

COSTLY: dict[str, list[str]] = {
    "130 copies of a long answer": [f"{LONG}\n# {n}\nz{n} = {n}" for n in range(130)],
    "2000 copies": [f"{ANSWER}\nz{n} = {n}" for n in range(2000)],
    "2000 answers to everything": ["\n".join(f"{name} = {n}" for name in NAMES.values()) for n in range(2000)],
    "a chain of helpers": [f"def g{n}(x): return g{n - 1}(x)" for n in range(1999)] + [f"g1998\n{ANSWER}"],
    "dense cells": [f"{ANSWER}\nx{n} = [{'a,' * 90_000}]" for n in range(10)],
    "one word": ["a" * 199_000] * 10,
    "spaces": [" " * 199_000 + "x"] * 10,
    "line continuations": ["\\\n" * 99_000] * 10,
    "magics": ["%a\n" * 66_000] * 10,
    "tabs before magics": ["\n" + "\t" * 199_000 + "%a\n"] * 10,
    "brackets": ["(" * 199_000] * 10,
    "nested brackets": ["(" * 90 + "1" + ")" * 90] * 2000,
    "quotes": ["'''" * 66_000] * 10,
    "long numbers": ["1" * 199_000] * 10,
    "operators": ["1" + "+1" * 99_000] * 10,
    "attributes": ["a" + ".a" * 99_000] * 10,
    "decorators": ["@a\n" * 66_000 + "def f(): pass"] * 10,
    "definitions": ["def softmax(:\n" * 14_000] * 10,
}


ALSO = pytest.mark.full("the same cells once more", seconds=1)
DEAR = pytest.mark.full("half of what all the others cost", seconds=5)


@pytest.mark.parametrize("grade_id", [None, pytest.param("softmax", marks=ALSO)])
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=DEAR) if name == "dense cells" else name for name in COSTLY]
)
def test_aligning_costs_bounded_time(name: str, grade_id: str | None, tmp_path: Path) -> None:
    """As cells of the student's own and as copies of an exercise's cell."""
    about = {"nbgrader": {"grade_id": grade_id}} if grade_id else {}
    cells = [{"cell_type": "code", "source": text, "metadata": about} for text in COSTLY[name]]
    test = {"cell_type": "code", "source": "", "metadata": {"nbgrader": {"grade_id": "softmax-test"}}}
    path = tmp_path / f"{LESSON}.ipynb"
    path.write_text(json.dumps({"cells": [test, *cells], "metadata": {}, "nbformat": 4}))
    started = time.process_time()
    found = align(REAL_COURSE, LESSON, path, NAMES)
    for exercise in NAMES:
        needed_cells(found.parts, exercise, set(NAMES.values()))
    assert time.process_time() - started < SECONDS
