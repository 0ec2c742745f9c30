"""A mangled notebook is aligned with the released one; an answer takes along what it needs, no more."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import pytest
from conftest import solve

from autograder.model.course import Course
from autograder.model.errors import SubmissionError
from autograder.submissions.align import Aligned, Part, Role, align, empty, needed_cells
from autograder.submissions.released import grade_id

LESSON = "03_attention"
NAMES = {
    "softmax": "softmax",
    "attention-scores": "attention_scores",
    "causal-mask": "causal_mask",
    "padding-mask": "padding_mask",
    "scaled-dot-product-attention": "scaled_dot_product_attention",
    "self-attention-head": "SelfAttentionHead",
    "attention-shapes": "answers",
}


@pytest.fixture
def lay(course: Course, tmp_path: Path) -> Callable[[Callable[[Any], Any]], Aligned]:
    """Mangle a solved notebook and align it."""

    def do(mangle: Callable[[Any], Any]) -> Aligned:
        notebook = solve(course, LESSON)
        mangle(notebook)
        path = tmp_path / "mangled.ipynb"
        path.write_text(json.dumps(notebook))
        return align(course, LESSON, path, NAMES)

    return do


def part(aligned: Aligned, exercise: str) -> Any:
    """Return the answer of one exercise."""
    return next(p for p in aligned.parts if p.exercise == exercise and p.role is Role.SOLUTION)


def place(notebook: Any, grade_id: str) -> int:
    """Return where a cell stands."""
    ids = [cell.metadata.get("nbgrader", {}).get("grade_id") for cell in notebook.cells]
    return ids.index(grade_id)


def test_a_clean_notebook_needs_no_repair(lay: Callable[..., Aligned]) -> None:
    """Nothing is repaired, missing or unanswered."""
    aligned = lay(lambda notebook: None)
    assert aligned.repairs == []
    assert not any(p.missing or p.unanswered for p in aligned.parts)


def test_locked_cells_come_from_the_master(lay: Callable[..., Aligned]) -> None:
    """A test cell that was edited to pass is replaced by the original."""

    def mangle(notebook: Any) -> None:
        notebook.cells[place(notebook, "softmax-test")].source = "pass"

    aligned = lay(mangle)
    tests = [
        c
        for c in aligned.notebook.cells
        if c.metadata.get("nbgrader", {}).get("grade_id") == "softmax-test"
    ]
    assert len(tests) == 1
    assert "assert" in tests[0].source


def test_a_changed_setup_cell_runs_after_the_original(lay: Callable[..., Aligned]) -> None:
    """An import that a student added to a locked cell still works."""

    def mangle(notebook: Any) -> None:
        notebook.cells[place(notebook, "setup-1")].source += "\nimport numpy as np"

    aligned = lay(mangle)
    own = [p for p in aligned.parts if p.role is Role.OWN]
    assert len(own) == 1
    assert "setup-1" in aligned.repairs[0]


def test_metadata_less_cells_are_recognised(lay: Callable[..., Aligned]) -> None:
    """Without ids and metadata, answers are found by what they define."""

    def mangle(notebook: Any) -> None:
        for cell in notebook.cells:
            cell.metadata = {}
            cell.pop("id", None)

    aligned = lay(mangle)
    assert "def softmax" in part(aligned, "softmax").source
    assert "class SelfAttentionHead" in part(aligned, "self-attention-head").source
    assert any("recognised" in repair for repair in aligned.repairs)


def test_a_deleted_cell_is_missing_and_nothing_else_is(lay: Callable[..., Aligned]) -> None:
    """Deleting one answer costs that exercise."""
    aligned = lay(lambda notebook: notebook.cells.pop(place(notebook, "softmax")))
    assert [p.exercise for p in aligned.parts if p.missing] == ["softmax"]


def test_a_split_cell_is_joined(lay: Callable[..., Aligned]) -> None:
    """Two halves with the same id are one answer."""

    def mangle(notebook: Any) -> None:
        index = place(notebook, "scaled-dot-product-attention")
        cell = notebook.cells[index]
        lines = cell.source.split("\n")
        rest = nbformat.from_dict({**cell, "source": "\n".join(lines[12:])})
        cell.source = "\n".join(lines[:12])
        notebook.cells.insert(index + 1, rest)

    aligned = lay(mangle)
    compile(part(aligned, "scaled-dot-product-attention").source, "cell", "exec")
    assert "return output, weights" in part(aligned, "scaled-dot-product-attention").source


def test_of_two_copies_the_last_counts(lay: Callable[..., Aligned]) -> None:
    """If a cell was copied and then edited, the later copy is the answer."""

    def mangle(notebook: Any) -> None:
        index = place(notebook, "softmax")
        old = nbformat.from_dict(
            {**notebook.cells[index], "source": "def softmax(x, dim=-1):\n    return x"}
        )
        notebook.cells.insert(index, old)

    assert "amax" in part(lay(mangle), "softmax").source


def test_of_copies_that_were_changed_back_the_last_counts(lay: Callable[..., Aligned]) -> None:
    """Right, wrong, and right again: an equal one above does not make the wrong one the last."""

    def mangle(notebook: Any) -> None:
        index = place(notebook, "softmax")
        right = notebook.cells[index]
        wrong = {**right, "source": "def softmax(x, dim=-1):\n    return x"}
        notebook.cells[index + 1 : index + 1] = [nbformat.from_dict(wrong), nbformat.from_dict({**right})]

    assert "amax" in part(lay(mangle), "softmax").source


def test_a_retyped_cell_is_read_as_code(lay: Callable[..., Aligned]) -> None:
    """An answer that was turned into markdown by accident still counts."""

    def mangle(notebook: Any) -> None:
        cell = notebook.cells[place(notebook, "softmax")]
        cell["cell_type"] = "markdown"

    aligned = lay(mangle)
    assert "amax" in part(aligned, "softmax").source
    assert any("type was changed" in repair for repair in aligned.repairs)


def test_own_cells_keep_their_place(lay: Callable[..., Aligned]) -> None:
    """A helper before an answer runs before that answer."""

    def mangle(notebook: Any) -> None:
        index = place(notebook, "softmax")
        notebook.cells.insert(index, nbformat.v4.new_code_cell("def helper(): ..."))

    roles = [p.role for p in lay(mangle).parts if p.runs]
    assert roles.index(Role.OWN) < roles.index(Role.SOLUTION)


def test_an_own_cell_at_the_end_of_a_short_notebook_runs_last(course: Course, tmp_path: Path) -> None:
    """Also if the notebook has fewer cells than the lesson has before the answer."""
    answer = solve(course, LESSON).cells
    kept = next(cell for cell in answer if grade_id(cell) == "causal-mask")
    own = nbformat.v4.new_code_cell("print(causal_mask(3))")
    nbformat.write(nbformat.v4.new_notebook(cells=[kept, own]), tmp_path / "n.ipynb")
    parts = align(course, LESSON, tmp_path / "n.ipynb", NAMES).parts
    order = [p.exercise or p.role for p in parts if p.runs and p.role is not Role.LOCKED]
    assert order == ["causal-mask", Role.OWN]


def test_demo_cells_are_not_run(lay: Callable[..., Aligned]) -> None:
    """Grading doesn't run demos, edited or not."""
    assert not any("hundred" in p.source for p in lay(lambda notebook: None).parts if p.runs)


def test_comments_alone_are_not_an_answer(course: Course, tmp_path: Path) -> None:
    """A skeleton with comments and blank lines added is still unanswered."""
    notebook = nbformat.read(course.release_notebook(LESSON), as_version=4)
    for cell in notebook.cells:
        if cell.metadata.get("nbgrader", {}).get("solution"):
            cell.source = cell.source.replace("# YOUR CODE HERE", "\n    # I do not know")
    nbformat.write(notebook, tmp_path / "n.ipynb")
    parts = align(course, LESSON, tmp_path / "n.ipynb", NAMES).parts
    assert all(p.unanswered for p in parts if p.role is Role.SOLUTION)


def test_an_empty_alignment_misses_everything(course: Course) -> None:
    """Without a notebook, every answer is missing, and nothing is repaired."""
    aligned = empty(course, LESSON)
    assert all(p.missing for p in aligned.parts if p.role is Role.SOLUTION)
    assert aligned.repairs == []


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "the file is empty"),
        ("{", "not valid JSON"),
        ("[]", "has no cells"),
        ("{}", "has no cells"),
        (
            '{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}',
            "none of its exercises",
        ),
        ('{"cells": [{"cell_type": "code", "source": "1+1"}]}', "none of its exercises"),
    ],
)
def test_a_file_of_no_lesson_is_refused(
    content: str, reason: str, course: Course, tmp_path: Path
) -> None:
    """The error gives the reason in one line."""
    path = tmp_path / "x.ipynb"
    path.write_text(content)
    with pytest.raises(SubmissionError, match=reason):
        align(course, LESSON, path, NAMES)


GIVEN = {"torch", "softmax"}


def needed(*own: str, answer: str, locked: str = "") -> list[str]:
    """Return the cells that an answer takes along from cells of the student's before it."""
    parts = [
        Part(Role.LOCKED, locked),
        *(Part(Role.OWN, source) for source in own),
        Part(Role.SOLUTION, answer, exercise="x"),
        Part(Role.TEST, "", exercise="x"),
        Part(Role.OWN, "helper = 'too late'"),
    ]
    return needed_cells(parts, "x", GIVEN)


def test_helpers_of_helpers_come_along_in_order() -> None:
    """Functions, imports, constants, and what fills them."""
    cells = ["import math as m", "TABLE = {}", "TABLE['a'] = 1", "def helper(n):\n    return m.pi * TABLE['a']"]
    assert needed(*cells, "unused = 1", answer="def f(x):\n    return helper(x)") == cells


def test_what_is_provided_is_not_taken_from_the_student() -> None:
    """A cell that shadows torch, a built-in function or an earlier exercise is left out."""
    answer = "def f(x):\n    return torch.tensor(sum(softmax(x)))"
    assert needed("torch = None", "sum = 3", "def softmax(x):\n    return 0", answer=answer) == []


def test_local_names_need_nothing() -> None:
    """A parameter or a local variable is not the global of that name."""
    answer = "def f(x):\n    total = x\n    return [total for each in x]"
    assert needed("x = 1", "total = 2", "each = 3", answer=answer) == []


def test_locked_cells_come_along_where_they_define_something() -> None:
    """Those are ours: an import that the answer uses."""
    locked = "from collections import Counter"
    assert needed(answer="def f(x):\n    return Counter(x)", locked=locked) == [locked]
    assert needed(answer="def f(x):\n    return x", locked=locked) == []


def test_cells_that_are_not_python_are_left_out() -> None:
    """Magics are skipped, broken cells define nothing."""
    cells = ["%matplotlib inline\nscale = 2", "def broken(:"]
    assert needed(*cells, answer="def f(x):\n    return scale * broken(x)") == [cells[0]]
