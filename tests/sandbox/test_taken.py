"""What a cell takes from a stand-in of ours is no answer, wherever the cell stands and wherever it keeps it."""

from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
from conftest import solve
from nbformat.v4 import new_code_cell

from autograder.grading.grader import Grader
from autograder.model.course import Course
from autograder.model.report import Report

LESSON = "02_positional_encoding"
TABLES = "{d: stand_ins.PositionalEncoding(d, 700).pe for d in range(2, 260, 2)}"
TAKE = f"import builtins\nfrom coursework import stand_ins\nbuiltins.tables = {TABLES}"
LOOK = """
def sinusoidal_encoding(length, d_model):
    return tables[d_model][:length].clone()
"""
WRITES = f"""
from coursework import stand_ins
def sinusoidal_encoding(length, d_model):
    torch.save({TABLES}, "/tmp/tables")
"""
READS = """
class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=512, dropout=0.1):
        super().__init__()
        self.register_buffer("pe", torch.load("/tmp/tables")[d_model][:max_len])
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        return self.dropout(x + self.pe[: x.size(1)])
"""
Graded = Callable[..., Report]


@pytest.fixture
def graded(tmp_path: Path, grader: Grader, course: Course) -> Graded:
    """Give a function that grades a solved notebook with other answers, and a first cell of the student's."""

    def grade(first: str, **answers: str) -> Report:
        edits = {name.replace("_", "-"): lambda _, text=text: text for name, text in answers.items()}
        notebook = solve(course, LESSON, edits)
        notebook.cells.insert(3, new_code_cell(first))
        path = tmp_path / f"{LESSON}.ipynb"
        nbformat.write(notebook, path)
        return grader.grade(LESSON, path).report

    return grade


def test_a_table_made_in_a_cell_of_ones_own_is_no_answer(graded: Graded) -> None:
    """Even where the answer does not name what holds it; the other exercises keep their points."""
    report = graded(TAKE, sinusoidal_encoding=LOOK)
    assert report.exercise("sinusoidal-encoding").score == 0
    assert all(ex.score == ex.points for ex in report.exercises if ex.id != "sinusoidal-encoding")


def test_a_table_that_another_answer_makes_is_no_answer(graded: Graded) -> None:
    """One exercise cannot be given up to earn another."""
    report = graded("", sinusoidal_encoding=WRITES, positional_encoding=READS)
    assert report.exercise("positional-encoding").score == 0


def test_who_only_looks_at_a_stand_in_loses_nothing(graded: Graded) -> None:
    """A cell may try one, as long as no answer needs the cell."""
    report = graded(f"from coursework import stand_ins\nshown = {TABLES}\nprint(shown[4])")
    assert report.score == sum(ex.points for ex in report.exercises)
